package main

import (
	"os/exec"
	"strings"
	"testing"
)

// fullDisk runs crashArgs where a second checkpoint does not fit: the weights take 150 KiB, a
// checkpoint 450, the file system has 820. Then it makes room and resumes.
const fullDisk = `mkdir small && mount -t tmpfs -o size=820k none small && trap 'umount small' EXIT
"$@" --out small/run; echo "code $?"; ls small/run/checkpoints
mount -o remount,size=20m small && rm small/run/model.millrace && "$0" train --resume small/run && cp -r small/run after`

// fileLimit runs them where no file may grow beyond 300 KiB, and resumes without the limit.
const fileLimit = `(ulimit -f 600; "$@" --out small/run); echo "code $?"; ls small/run/checkpoints
rm small/run/model.millrace && "$0" train --resume small/run && cp -r small/run after`

// TestFullDisk trains where checkpoints soon do not fit any more: training goes on, says so, and
// keeps the last one that is good; resumed, the run ends like one that had room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	if got := millrace(t, dir, append(crashArgs, "--out", "whole")...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	starve(t, dir, []string{"sh", "-c", fileLimit}, "file too large", 0)
	for _, shell := range [][]string{{"sh", "-c"}, {"unshare", "-rm", "sh", "-c"}} {
		probe := exec.Command(shell[0], append(shell[1:], "mkdir -p probe && mount -t tmpfs none probe && umount probe")...)
		if probe.Dir = dir; probe.Run() == nil { // else one must be root here to mount
			starve(t, dir, append(shell, fullDisk), "no space left on device", 1)
			return
		}
	}
}

// starve runs a script and checks what it tells and leaves.
func starve(t *testing.T, dir string, shell []string, reason string, kept int) {
	t.Helper()
	if out, err := exec.Command("rm", "-rf", dir+"/small", dir+"/after").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	args := append(append(shell[1:], binary, binary), crashArgs...)
	cmd := exec.Command(shell[0], args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := string(out)
	for _, want := range []string{"training goes on, but the checkpoint after step", reason, "the one before it is kept", "code 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the run does not tell %q: %s", want, text)
		}
	}
	if n := strings.Count(text, ".checkpoint\n"); n != kept {
		t.Errorf("%d checkpoints were kept, want %d: %s", n, kept, text)
	}
	if !same(t, dir, "whole", "after") {
		t.Error("the run resumed from the last good checkpoint ended with another model")
	}
}
