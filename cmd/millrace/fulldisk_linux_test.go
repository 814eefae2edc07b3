package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fullDisk fills the file system, but for so many KiB, under a run that is not just writing: the
// weights take 1.6 MiB, a checkpoint 4.8. At the end it makes room and resumes. The run stands still
// while it is looked at, so that it does not end meanwhile on a slow machine.
const fullDisk = `mkdir small && mount -t tmpfs -o size=40m none small && trap 'umount small' EXIT
"$@" --out small/run & run=$!
ripe() { case "$(ls -A small/run/checkpoints 2>/dev/null)" in *tmp*) false ;; *checkpoint*checkpoint*) ;; *) false ;; esac; }
until kill -STOP $run && ripe; do kill -CONT $run; sleep 0.01; done
cat /dev/zero > small/fill 2>/dev/null; truncate -s -"$room"K small/fill; kill -CONT $run
wait $run; echo "code $?"; ls small/run/checkpoints
rm -f small/fill small/run/model.millrace && "$0" train --resume small/run && cp -r small/run after`

// fileLimit runs them where no file may grow beyond 300 KiB, and resumes without the limit.
const fileLimit = `(ulimit -f 600; "$@" --out small/run); echo "code $?"; ls small/run/checkpoints
rm small/run/model.millrace && "$0" train --resume small/run && cp -r small/run after`

// TestFullDisk trains where checkpoints soon do not fit any more: training goes on, says so, and
// keeps the last one that is good. Where the model does not fit either, the run says how much to
// free and how to go on. Resumed, it ends like one that had room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	if got := millrace(t, dir, append(crashArgs, "--out", "whole")...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	starve(t, dir, []string{"sh", "-c", fileLimit}, crashArgs, "", 0, "file too large", "code 0")
	for _, shell := range [][]string{{"sh", "-c"}, {"unshare", "-rm", "sh", "-c"}} {
		probe := exec.Command(shell[0], append(shell[1:], "mkdir -p probe && mount -t tmpfs none probe && umount probe")...)
		if probe.Dir = dir; probe.Run() == nil { // else one must be root here to mount
			fill(t, dir, append(shell, fullDisk))
			return
		}
	}
}

// TestFullDiskOfCrew does the same with two workers.
func TestFullDiskOfCrew(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	args := append(slices.Clone(crashArgs), "--workers", "2")
	if got := millrace(t, dir, append(args, "--out", "whole")...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	starve(t, dir, []string{"sh", "-c", fileLimit}, args, "", 0, "file too large", "code 0")
}

// fill fills the disk under runs that are long enough for that.
func fill(t *testing.T, dir string, shell []string) {
	t.Helper()
	args := append(slices.Clone(crashArgs), "--model", "lenet", "--epochs", "60", "--checkpoint-every", "80ms")
	if err := os.RemoveAll(filepath.Join(dir, "whole")); err != nil {
		t.Fatal(err)
	}
	if got := millrace(t, dir, append(args, "--out", "whole")...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	const reason = "no space left on device"
	starve(t, dir, shell, args, "room=3500", 2, reason, "code 0")
	starve(t, dir, shell, args, "room=200", 2, reason, "code 1", "the model could not be written: ", "; free ",
		" MiB; then go on with millrace train --resume small/run")
}

// starve runs a script and checks what it tells and leaves.
func starve(t *testing.T, dir string, shell, run []string, room string, kept int, told ...string) {
	t.Helper()
	for _, left := range []string{"small", "after"} {
		if err := os.RemoveAll(filepath.Join(dir, left)); err != nil {
			t.Fatal(err)
		}
	}
	args := append(append(slices.Clone(shell[1:]), binary, binary), run...)
	cmd := exec.Command(shell[0], args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), room)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := string(out)
	for _, want := range append(told, "training goes on, but the checkpoint after step") {
		if !strings.Contains(text, want) {
			t.Errorf("the run does not tell %q: %s", want, text)
		}
	}
	if claimed := strings.Contains(text, "the one before it is kept"); claimed != (kept > 0) {
		t.Errorf("the run tells of an earlier checkpoint: %v; %d are kept: %s", claimed, kept, text)
	}
	if strings.Contains(text, ".tmp") {
		t.Errorf("the run tells of a temporary file: %s", text)
	}
	if n := strings.Count(text, ".checkpoint\n"); n != kept {
		t.Errorf("%d checkpoints were kept, want %d: %s", n, kept, text)
	}
	if !same(t, dir, "whole", "after") {
		t.Error("the run resumed from the last good checkpoint ended with another model")
	}
}

// TestNoRoom asks for a run that does not fit: it is refused before anything is written.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	const script = `mkdir small && mount -t tmpfs -o size=1m none small && trap 'umount small' EXIT
"$@" --out small/new/run; echo "code $?"; ls -A small`
	for _, shell := range [][]string{{"sh"}, {"unshare", "-rm", "sh"}} {
		cmd := exec.Command(shell[0], append(append(shell[1:], "-c", script, binary, binary), crashArgs...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if text := string(out); err == nil {
			if !strings.HasPrefix(text, "millrace: run directory small/new/run: the run takes up to ") || !strings.HasSuffix(text, " more\ncode 3\n") {
				t.Errorf("got %s", text)
			}
			return
		}
		if err := os.RemoveAll(filepath.Join(dir, "small")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullOutput writes results to a device that is full.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, line := range []string{"help", "train --help", "version", "data list", "completion bash"} {
		cmd := exec.Command(binary, strings.Fields(line)...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = full, &said
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "no space left") {
			t.Errorf("%s: %v, %q", line, err, said.String())
		}
	}
}
