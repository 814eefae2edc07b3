package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFullDisk trains on a file system with room for one checkpoint and the results, but not
// for two checkpoints: training goes on, says so, and keeps the one that is good.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	if got := millrace(t, dir, append(crashArgs, "--out", "whole")...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	// The weights take 150 KiB, a checkpoint 450.
	script := `mkdir small && mount -t tmpfs -o size=820k none small && trap 'umount small' EXIT
"$@" --out small/run; echo "code $?"; ls small/run/checkpoints
mount -o remount,size=20m small && rm small/run/model.millrace && "$0" train --resume small/run && cp -r small/run enlarged`
	shell := []string{"sh", "-c", script, binary, binary}
	if os.Getuid() != 0 { // a name space of one's own lets anybody mount
		shell = append([]string{"unshare", "-rm"}, shell...)
	}
	cmd := exec.Command(shell[0], append(shell[1:], crashArgs...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := string(out)
	for _, want := range []string{"training goes on, but the checkpoint after step", "no space left on device", "the one before it is kept", "code 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the run does not tell %q: %s", want, text)
		}
	}
	if n := strings.Count(text, ".checkpoint\n"); n != 1 {
		t.Errorf("%d checkpoints were kept, want 1: %s", n, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "enlarged")); err != nil {
		t.Fatal(err)
	}
	if !same(t, dir, "whole", "enlarged") {
		t.Error("the run resumed from the last good checkpoint ended with another model")
	}
}
