package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace.dev/learn/job"
)

// crashArgs is a run that writes a checkpoint after nearly every step, so that a kill is as
// likely to hit the writing of one as the training.
var crashArgs = []string{"train", "--data", "pictures", "--model", "mlp", "--epochs", "5", "--batch", "8",
	"--schedule", "plateau", "--augment", "flip", "--checkpoint-every", "1ns"}

// TestKillAndResume kills real runs at random moments, again and again, and resumes them: each
// must end with the model that an undisturbed run gives, byte for byte.
func TestKillAndResume(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 5
	}
	dir := t.TempDir()
	stripes(t, dir)
	began := time.Now()
	if got := millrace(t, dir, append(crashArgs, "--out", "whole")...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	length := time.Since(began)
	r := rand.New(rand.NewPCG(3, 4))
	done, resumed := 0, 0
	for run := 0; done < kills; run++ {
		name := "run" + string(rune('a'+run%26))
		for {
			args := append(crashArgs, "--out", name)
			if _, err := os.Stat(filepath.Join(dir, name, "run.json")); err == nil {
				args = []string{"train", "--resume", name}
				resumed++
			} else if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err) // killed before there was a run
			}
			killed, stderr := killAfter(t, dir, time.Duration(r.Int64N(int64(length))), args...)
			if killed {
				done++
				continue
			}
			if stderr != "" {
				t.Fatalf("after %d kills: %s", done, stderr)
			}
			break
		}
		if !same(t, dir, "whole", name) {
			t.Fatalf("run %s, resumed after kills, ended with another model", name)
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("killed %d times, resumed %d times, a run takes %v", done, resumed, length.Round(time.Millisecond))
}

// killAfter runs the binary and kills it after a time. It reports whether that came before the
// end, and what a run said that failed by itself.
func killAfter(t *testing.T, dir string, after time.Duration, args ...string) (killed bool, failure string) {
	t.Helper()
	var said strings.Builder
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stderr = dir, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, ""
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		return true, ""
	}
	return false, err.Error() + ": " + said.String()
}

// TestInterruptAndResume stops a run with one signal: it saves, says how to go on, and does.
func TestInterruptAndResume(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	args := []string{"train", "--data", "pictures", "--model", "mlp", "--epochs", "1500", "--batch", "8", "--valid-fraction", "0", "--checkpoint-every", "1h"}
	cmd := exec.Command(binary, append(args, "--out", "cut")...)
	var said strings.Builder
	cmd.Dir, cmd.Stderr = dir, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // until it trains
		if info, err := os.Stat(filepath.Join(dir, "cut", "events.jsonl")); err == nil && info.Size() > 0 {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.HasSuffix(said.String(), "; go on with millrace train --resume cut\n") {
		t.Fatalf("exit code %d, %s", code, said.String())
	}
	if got := millrace(t, dir, "eval", "cut"); got.code != exitBadInput {
		t.Errorf("an unfinished run has a model: %+v", got)
	}
	for _, line := range [][]string{{"train", "--resume", "cut"}, append(args, "--out", "whole")} {
		if got := millrace(t, dir, line...); got.code != exitDone {
			t.Fatalf("%+v", got)
		}
	}
	if !same(t, dir, "whole", "cut") {
		t.Error("the interrupted run ended with another model")
	}
	if got := millrace(t, dir, "predict", filepath.Join("cut", job.ModelFile), "one.png"); got.code != exitDone {
		t.Errorf("%+v", got)
	}
}
