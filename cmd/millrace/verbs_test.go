package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace.dev/control"
	"millrace.dev/internal/buildinfo"
	"millrace.dev/internal/rundir"
)

func TestVersion(t *testing.T) {
	got := millrace(t, "", "version")
	if got.code != exitDone || !strings.HasPrefix(got.stdout, "millrace ") || !strings.Contains(got.stdout, "go1.") {
		t.Errorf("%+v", got)
	}
	build := decode[version](t, millrace(t, "", "version", "--json"))
	if build.Go == "" || build.Version == "" || build.CPU == "" {
		t.Errorf("%+v", build)
	}
}

func TestVersionNamesTheCommit(t *testing.T) {
	for want, build := range map[string]buildinfo.Build{
		"millrace v1.0.0 (abc)\n":               {Version: "v1.0.0", Commit: "abc"},
		"millrace (devel) (abc with changes)\n": {Version: "(devel)", Commit: "abc", Modified: true},
		"millrace unknown (commit unknown)\n":   {Version: "unknown"},
	} {
		var b strings.Builder
		if err := (version{Build: build}).print(&b); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%v, %q", err, b.String())
		}
	}
}

func TestDoctor(t *testing.T) {
	got := millrace(t, t.TempDir(), "doctor", "--json")
	findings := decode[[]finding](t, got)
	seen := map[string]finding{}
	for _, f := range findings {
		if f.Found == "" || (f.State != good) != (f.Advice != "") {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = f
	}
	for _, name := range []string{"processor", "cores", "memory", "run directory", "temporary directory", "open files", "clock", "data set fashion-mnist-mini"} {
		if _, ok := seen[name]; !ok {
			t.Errorf("nothing about the %s", name)
		}
	}
	if got.code != exitDone {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if text := millrace(t, t.TempDir(), "doctor"); text.code != exitDone || !strings.HasPrefix(text.stdout, "WHAT ") {
		t.Errorf("%+v", text)
	}
}

func TestForcedProcessorLevel(t *testing.T) {
	t.Setenv("MILLRACE_CPU", "generic")
	got := millrace(t, t.TempDir(), "doctor")
	if got.code != exitDone || !strings.Contains(got.stdout, "generic kernels") {
		t.Errorf("%+v", got)
	}
	t.Setenv("MILLRACE_CPU", "mmx")
	got = millrace(t, t.TempDir(), "doctor")
	if got.code != exitFailed || !strings.Contains(got.stderr, "processor is unusable") || !strings.Contains(got.stderr, "mmx") {
		t.Errorf("%+v", got)
	}
}

func TestDoctorFailsWhenSomethingIsUnusable(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	got := millrace(t, "", "doctor", "--json")
	if got.code != exitFailed || !strings.Contains(got.stderr, "millrace: temporary directory is unusable: set TMPDIR") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if findings := decode[[]finding](t, got); len(findings) < 6 {
		t.Errorf("only %d findings", len(findings))
	}
}

// decidedRun makes a run whose journal holds a learning rate drop with its
// outcome and a stop, and returns its directory.
func decidedRun(t *testing.T) string {
	t.Helper()
	dir, err := rundir.Create("train", filepath.Join(t.TempDir(), "run"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	journal, err := control.OpenJournal(dir.Events())
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	loop, err := control.NewLoop(journal, control.Config{
		Settings: map[string]control.Setting{"learning rate": control.Number(0.1), "training": control.Run},
		Policies: []control.Policy{
			control.Plateau{Setting: "learning rate", Signal: "validation loss", Delta: 0.01, Patience: 2, Factor: 0.1, Floor: 0.01},
			control.EarlyStop{Setting: "training", Signal: "validation loss", Delta: 0.01, Patience: 3},
		},
		Apply: func(control.Decision) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1e9, 0)
	err = errors.Join(dir.WriteManifest(rundir.Manifest{Verb: "train", Started: at}), loop.Start(0, at))
	for i, loss := range []float64{0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4} {
		point := uint64(i+1) * 1000
		err = errors.Join(err,
			loop.Observe(control.Signal{Name: "validation loss", Unit: "nats", Time: at, Point: point, Value: loss}),
			loop.Decide(point, at))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir.Path()
}

func TestWhy(t *testing.T) {
	run := decidedRun(t)
	got := millrace(t, "", "why", run)
	for _, want := range []string{
		"#1  learning rate 0.1 → 0.01  (plateau at point 3,000, 2001-09-",
		"    because   validation loss has not improved on 0.5 for 2 measurements (patience 2, smallest improvement 0.01)\n",
		"    rests on  validation loss 0.5 nats at point 1,000, validation loss 0.5 nats at point 3,000\n",
		"    expected  lowest validation loss 0.49 nats within 2,000 points\n",
		"    observed  0.4 nats of 2 measurements, -18.4 %\n",
		"#2  training run → stop  (early stop at point 7,000",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing from\n%s", want, got.stdout)
		}
	}
	if got.code != exitDone || got.stderr != "" {
		t.Errorf("exit code %d, %q", got.code, got.stderr)
	}
	a := decode[account](t, millrace(t, "", "why", "--json", run))
	if a.Verb != "train" || len(a.Decisions) != 2 || a.Decisions[0].Observed.Value != 0.4 || a.Decisions[1].New != control.Stop {
		t.Errorf("%+v", a)
	}
}

func TestWhyOfBadInput(t *testing.T) {
	damaged := decidedRun(t)
	events := filepath.Join(damaged, "events.jsonl")
	content, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	content[60] ^= 1
	if err := os.WriteFile(events, content, 0o644); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for path, want := range map[string]string{
		damaged:                        "events.jsonl:1: damaged at byte 0",
		empty:                          "holds no run",
		filepath.Join(empty, "absent"): "does not exist",
	} {
		got := millrace(t, "", "why", path)
		if got.code != exitBadInput || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := millrace(t, "", "why", damaged); !strings.Contains(got.stdout, "#2") {
		t.Errorf("what can be read is not shown: %q", got.stdout)
	}
}

func TestWhyOfARunWithoutDecisions(t *testing.T) {
	dir, err := rundir.Create("train", filepath.Join(t.TempDir(), "run"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteManifest(rundir.Manifest{Verb: "train"}); err != nil {
		t.Fatal(err)
	}
	if got := millrace(t, "", "why", dir.Path()); got.code != exitDone || !strings.Contains(got.stdout, "no decisions") {
		t.Errorf("%+v", got)
	}
	if got := millrace(t, "", "why", "--json", dir.Path()); !strings.Contains(got.stdout, `"decisions": []`) {
		t.Errorf("%+v", got)
	}
}
