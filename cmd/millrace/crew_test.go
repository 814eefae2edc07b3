package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/control"
	"millrace.dev/internal/freeport"
)

// crewArgs is a run of small steps, whose length the tests add.
var crewArgs = []string{"train", "--data", "pictures", "--model", "mlp", "--batch", "8", "--valid-fraction", "0", "--schedule", "constant", "--lr", "0.001"}

// endless is the length of a run that a test ends.
var endless = []string{"--epochs", "0", "--steps", "900000000"}

// crewRun is a launcher under test, and its workers.
type crewRun struct {
	t    *testing.T
	dir  string // working directory
	name string // of the run
	cmd  *exec.Cmd
	out  bytes.Buffer
	said lockedBuffer
	done chan struct{}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// launch starts a run with the arguments.
func launch(t *testing.T, dir, name string, args ...string) *crewRun {
	t.Helper()
	return launchIn(t, nil, dir, name, args...)
}

// launchIn does so with variables besides those of the environment.
func launchIn(t *testing.T, environment []string, dir, name string, args ...string) *crewRun {
	t.Helper()
	r := &crewRun{t: t, dir: dir, name: name, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = dir, &r.out, &r.said
	r.cmd.Env = append(os.Environ(), environment...)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.done
	})
	return r
}

// launchNew starts a new run of small steps.
func launchNew(t *testing.T, dir, name string, args ...string) *crewRun {
	t.Helper()
	return launch(t, dir, name, slices.Concat(crewArgs, []string{"--out", name}, args)...)
}

// long bounds whatever a test waits for.
const long = 60 * time.Second

// until waits for a condition.
func (r *crewRun) until(what string, condition func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(long); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: %s", what, r.said.String())
		}
	}
}

// status asks how the workers are; it is empty when there is no answer.
func (r *crewRun) status() (s crew.Status) {
	got := millrace(r.t, r.dir, "group", "status", r.name, "--json")
	if got.code == exitDone {
		s = decode[crew.Status](r.t, got)
	}
	return s
}

// step is how far the run is.
func (r *crewRun) step() (most int) {
	for _, w := range r.status().Workers {
		most = max(most, int(w.Step))
	}
	return most
}

// trained waits for so many more steps.
func (r *crewRun) trained(steps int) {
	r.t.Helper()
	from := r.step()
	r.until("the run makes no steps", func() bool { return r.step() >= from+steps })
}

// members waits until so many workers are in one view, and returns their processes by name.
func (r *crewRun) members(n int) map[string]int {
	r.t.Helper()
	pids := map[string]int{}
	r.until(fmt.Sprintf("there are never %d members", n), func() bool {
		clear(pids)
		s := r.status()
		for _, w := range s.Workers {
			if w.Rank >= 0 && len(w.Members) == n && w.Epoch == s.Workers[0].Epoch && w.Doing != "" && !strings.HasPrefix(w.Doing, "following") {
				pids[w.Name] = w.PID
			}
		}
		return len(s.Workers) == n && len(pids) == n
	})
	return pids
}

// kill sends a signal to workers of the run.
func (r *crewRun) kill(s syscall.Signal, pids ...int) {
	r.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			r.t.Fatalf("process %d: %v: %s", pid, err, r.said.String())
		}
	}
}

// ends waits for the end of the launcher.
func (r *crewRun) ends(code int) {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(long):
		r.t.Fatalf("the run does not end: %s", r.said.String())
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Fatalf("exit code %d, want %d: %s", got, code, r.said.String())
	}
}

// interrupt ends an endless run in good order.
func (r *crewRun) interrupt() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	r.ends(exitInterrupted)
}

// tells checks what the launcher has said.
func (r *crewRun) tells(words ...string) {
	r.t.Helper()
	for _, w := range words {
		if !strings.Contains(r.said.String(), w) {
			r.t.Errorf("the run does not tell %q: %s", w, r.said.String())
		}
	}
}

// proof replays the run, which must give the same bits.
func (r *crewRun) proof() crew.Proof {
	r.t.Helper()
	got := millrace(r.t, r.dir, "group", "replay", r.name, "--json")
	if got.code != exitDone {
		r.t.Fatalf("the replay of %s: %+v; the run said %s", r.name, got, r.said.String())
	}
	p := decode[crew.Proof](r.t, got)
	if p.Compared < 2 { // the beginning, and the last checkpoint
		r.t.Errorf("the replay of %s compared %d points", r.name, p.Compared)
	}
	return p
}

// short leaves a test out of a quick run: what it needs time for is waiting. Else it runs beside others.
func short(t *testing.T) bool {
	t.Helper()
	if testing.Short() {
		t.Log("short: not run")
		return true
	}
	t.Parallel()
	return false
}

func crewDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	stripes(t, dir)
	return dir
}

// TestCrews trains with one to four workers: a replay in one process has the same bits, the result
// has the shape of that of a process alone, and reading verbs do as with any run.
func TestCrews(t *testing.T) {
	t.Parallel()
	dir := crewDir(t)
	alone := millrace(t, dir, append(slices.Clone(crewArgs), "--out", "alone", "--steps", "40", "--json")...)
	want := decode[map[string]any](t, alone)
	for n := 1; n <= 4; n++ {
		r := launchNew(t, dir, fmt.Sprint("crew", n), "--steps", "40", "--workers", fmt.Sprint(n), "--json")
		r.ends(exitDone)
		var got map[string]any
		if err := json.Unmarshal(r.out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, r.out.String())
		}
		if got["workers"] != float64(n) || got["views"] != 1.0 || got["steps"] != 40.0 {
			t.Errorf("%d workers: %v", n, got)
		}
		for key := range want {
			if _, there := got[key]; !there {
				t.Errorf("the result has no %s", key)
			}
		}
		if p := r.proof(); p.Steps != 40 || len(p.Workers) != n || p.Views != 1 || p.Epochs != 4 {
			t.Errorf("%d workers: %+v", n, p)
		}
		for _, verb := range [][]string{{"eval", r.name}, {"predict", r.name, "one.png"}, {"why", r.name}} {
			if got := millrace(t, dir, verb...); got.code != exitDone {
				t.Errorf("%v: %+v", verb, got)
			}
		}
		if got := millrace(t, dir, "group", "status", r.name); got.code != exitBadInput || !strings.Contains(got.stderr, "no workers are at work on it") {
			t.Errorf("%+v", got)
		}
	}
}

// TestLosses kills workers at random moments, also the one that leads and several at once: those that
// stay go on in the same processes, and a replay of their logs has the same bits.
func TestLosses(t *testing.T) {
	t.Parallel()
	dir := crewDir(t)
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for round := range rounds {
		r := launchNew(t, dir, fmt.Sprint("lost", round), append(slices.Clone(endless), "--workers", "4")...)
		before := r.members(4)
		r.trained(20)
		victims := [][]string{{"w0"}, {"w2"}, {"w1", "w3"}, {"w0", "w1", "w2"}}[round]
		time.Sleep(time.Duration(rnd.IntN(int(20 * time.Millisecond))))
		var pids []int
		for _, name := range victims {
			pids = append(pids, before[name])
			delete(before, name)
		}
		r.kill(syscall.SIGKILL, pids...)
		r.trained(20)
		if after := r.members(4 - len(victims)); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the processes are %v, were %v", after, before)
		}
		r.interrupt()
		r.tells("was ended by signal 9 (killed); another takes its place in 10s")
		// The words are others where two views have followed each other within a step.
		if lost := regexp.MustCompile(`view \d+: .*` + victims[0] + ` (was lost|is out)`); !lost.MatchString(r.said.String()) {
			t.Errorf("it does not tell of the loss of %s: %s", victims[0], r.said.String())
		}
		if p := r.proof(); p.Views < 2 {
			t.Errorf("%+v", p)
		}
		checkDecisions(t, dir, r.name)
	}
}

// checkDecisions wants the loss of workers among the decisions, with what it was expected to bring
// and what it brought.
func checkDecisions(t *testing.T, dir, run string) {
	t.Helper()
	got := decode[struct{ Decisions []control.Decision }](t, millrace(t, dir, "why", run, "--json"))
	found := map[string]bool{}
	for i, d := range got.Decisions {
		found[d.Subject] = true
		if d.ID != uint64(i+1) {
			t.Errorf("decision %d has number %d", i+1, d.ID)
		}
		if d.Subject == "workers" && d.Old.Number() == 4 && (strings.Contains(d.Reason, " was lost") || strings.Contains(d.Reason, " is out")) {
			found["loss"] = d.Expect != nil && d.Expect.Value > 0 && d.New.Number() < d.Old.Number() && len(d.Signals) == 1
		}
	}
	for _, what := range []string{"workers", "reduction", "loss"} {
		if !found[what] {
			t.Errorf("%s: no %s among the decisions %+v", run, what, got.Decisions)
		}
	}
}

// TestZombie stops a worker until the others have gone on without it: it comes back with their state.
func TestZombie(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launchNew(t, dir, "zombie", append(slices.Clone(endless), "--workers", "3")...)
	before := r.members(3)
	r.kill(syscall.SIGSTOP, before["w1"])
	r.until("nobody misses the stopped worker", func() bool { return strings.Contains(r.said.String(), "view 2: w1 ") })
	r.kill(syscall.SIGCONT, before["w1"])
	if after := r.members(3); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the processes are %v, were %v", after, before)
	}
	r.trained(10)
	r.interrupt()
	r.tells("; w0 w2 go on with ", "w1 has joined; w0 w2 w1 go on with ")
	r.proof()
}

// TestDrain lets workers leave in good order, by a signal, by name, by a notice and all of them.
func TestDrain(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launchNew(t, dir, "drained", append(slices.Clone(endless), "--workers", "4", "--notice", "notice")...)
	pids := r.members(4)
	r.kill(syscall.SIGTERM, pids["w0"])
	r.members(3)
	if got := millrace(t, dir, "group", "drain", "drained", "--worker", "w2"); got.code != exitDone {
		t.Errorf("%+v", got)
	}
	r.members(2)
	if s := r.status(); s.Target != 2 || s.Missing != "" {
		t.Errorf("%+v", s)
	}
	for line, code := range map[string]int{
		"drain drained --worker w9": exitFailed, "resize 0 drained": exitUsage, "resize x drained": exitUsage, "resize 3 nowhere": exitBadInput,
	} {
		if got := millrace(t, dir, append([]string{"group"}, strings.Fields(line)...)...); got.code != code {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notice"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.ends(exitInterrupted)
	r.tells("worker w0 has left: it was asked to leave", "the file notice has appeared", "all workers have left; go on with millrace train --resume drained")
	if text := r.said.String(); strings.Contains(text, "was lost") || strings.Contains(text, "takes its place") {
		t.Errorf("a worker that left is taken for lost: %s", text)
	}
	steps := r.proof().Steps

	// The run goes on with another number of workers.
	if err := os.Remove(filepath.Join(dir, "notice")); err != nil {
		t.Fatal(err)
	}
	r = launch(t, dir, "drained", "train", "--resume", "drained", "--workers", "2")
	r.members(2)
	r.trained(20)
	if got := millrace(t, dir, "group", "drain", "drained", "--json"); got.code != exitDone || !strings.Contains(got.stdout, `"leaving"`) {
		t.Errorf("%+v", got)
	}
	r.ends(exitInterrupted)
	r.tells("going on after step")
	if p := r.proof(); p.Steps < steps+20 {
		t.Errorf("the run went on from step %d to %d", steps, p.Steps)
	}
}

// TestResize changes the number of workers again and again within one epoch: each sample is used
// exactly once.
func TestResize(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launch(t, dir, "resized", "train", "--model", "mlp", "--epochs", "1", "--batch", "2", "--valid-fraction", "0",
		"--optimizer", "sgd", "--out", "resized", "--workers", "1", "--threads", "1")
	r.members(1)
	for _, n := range []int{4, 2, 6, 3} {
		if got := millrace(t, dir, "group", "resize", fmt.Sprint(n), "resized", "--json"); got.code != exitDone || decode[map[string]int](t, got)["workers"] != n {
			t.Fatalf("%+v: %s", got, r.said.String())
		}
		r.members(n)
	}
	r.ends(exitDone)
	if p := r.proof(); p.Epochs != 1 || len(p.Workers) < 8 || p.Views < 5 {
		t.Errorf("%+v", p)
	}
}

// TestLauncherKilled kills the parent: its workers save and end, and the run goes on from there.
func TestLauncherKilled(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	elsewhere, err := cluster.Open(t.Context(), cluster.Config{Dir: filepath.Join(dir, "records"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	for name, flags := range map[string][]string{
		"service": {"--membership", "service"}, "majority": {"--membership", "majority"}, "cluster": {"--cluster", elsewhere.URL()},
	} {
		r := launchNew(t, dir, name, slices.Concat(endless, []string{"--workers", "3", "--checkpoint-every", "1h"}, flags)...)
		pids := r.members(3)
		r.trained(5)
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-r.done
		r.until("workers outlive their parent", func() bool {
			for _, pid := range pids {
				if syscall.Kill(pid, 0) == nil {
					return false
				}
			}
			return true
		})
		if got := millrace(t, dir, "group", "status", name); got.code != exitBadInput || !strings.Contains(got.stderr, "has ended without saying so") || !strings.Contains(got.stderr, "train --resume") {
			t.Errorf("%+v", got)
		}
		at, err := filepath.Glob(filepath.Join(dir, name, "checkpoints", "*"))
		if err != nil || len(at) == 0 {
			t.Errorf("they saved nothing: %v", err)
		}
		r = launch(t, dir, name, append([]string{"train", "--resume", name}, flags...)...)
		r.members(3)
		r.trained(5)
		r.interrupt()
		r.proof()
	}
}

// TestCrewAllLost kills every worker at once.
func TestCrewAllLost(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launchNew(t, dir, "none", append(slices.Clone(endless), "--workers", "2", "--checkpoint-every", "20ms")...)
	pids := r.members(2)
	r.trained(50)
	r.kill(syscall.SIGKILL, pids["w0"], pids["w1"])
	r.ends(exitFailed)
	r.tells("all workers are lost: ", "then go on with millrace train --resume none")
	r = launch(t, dir, "none", "train", "--resume", "none")
	r.members(2)
	r.interrupt()
	r.proof()
}

// TestNoMajority loses one of two workers where a majority decides: the other cannot go on, says so, and
// when it is to end it saves what both had. A worker that is stopped does not keep the run from ending.
func TestNoMajority(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launchNew(t, dir, "half", append(slices.Clone(endless), "--workers", "2", "--membership", "majority", "--checkpoint-every", "1h")...)
	pids := r.members(2)
	r.trained(20)
	r.kill(syscall.SIGKILL, pids["w0"])
	r.until("it does not say that it stands still", func() bool { return strings.Contains(r.said.String(), "the workers cannot go on now: ") })
	at := r.step()
	if s := r.status(); s.Missing != "1, to be started once the others can go on" {
		t.Errorf("missing is %q", s.Missing)
	}
	if got := millrace(t, dir, "group", "drain", "half"); got.code != exitDone || !strings.Contains(got.stdout, "all workers leaving soon, with what they have saved: the workers cannot go on now (") {
		t.Errorf("%+v", got)
	}
	r.ends(exitInterrupted)
	r.tells("worker w1 cannot leave the group in good order: it saves and ends")
	if p := r.proof(); p.Steps < at {
		t.Errorf("it ended after step %d and saved step %d", at, p.Steps)
	}
	s := launch(t, dir, "half", "train", "--resume", "half")
	s.members(2)
	s.tells("going on after step ")
	r = s
	r.kill(syscall.SIGSTOP, r.members(2)["w1"])
	r.interrupt()
	r.proof()
}

// TestFinisherKilled kills those that have trained to the end, one after the other, while they measure
// the model and write the results: the last one does it.
func TestFinisherKilled(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launch(t, dir, "late", "train", "--model", "lenet", "--steps", "2", "--valid-fraction", "0", "--out", "late", "--workers", "3", "--json")
	killed := 0
	for ended := false; killed < 2 && !ended; {
		for _, w := range r.status().Workers {
			if w.Finishing && syscall.Kill(w.PID, syscall.SIGKILL) == nil { // else it has finished since
				killed++
			}
		}
		select {
		case <-r.done:
			ended = true
		default:
		}
	}
	r.ends(exitDone)
	if got := millrace(t, dir, "eval", "late"); got.code != exitDone {
		t.Errorf("%+v", got)
	}
	if killed == 0 {
		t.Error("nobody was killed in time")
	}
	r.proof()
}

// TestPerWorkerBatch loses a worker of a group whose batch is that of each: batch and learning rate
// follow.
func TestPerWorkerBatch(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launchNew(t, dir, "each", append(slices.Clone(endless), "--workers", "3", "--global-batch", "per-worker", "--lr", "0.003")...)
	pids := r.members(3)
	r.trained(1)
	r.kill(syscall.SIGKILL, pids["w1"])
	r.trained(20)
	r.interrupt()
	r.tells("w0 w2 go on with 16 samples a step at a learning rate of 0.002 ")
	r.proof()
}

// TestJoin adds workers of another launcher, through a Unix socket, through TCP and with keys.
func TestJoin(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	if got := millrace(t, dir, "cluster", "keys", "keys", "alpha", "beta", "--json"); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	for name, flags := range map[string][2][]string{
		"unix":   {},
		"tcp":    {{"--listen", "127.0.0.1:PORT"}, {"--listen", "127.0.0.1:PORT"}},
		"secure": {{"--listen", "[::1]:PORT", "--keys", "keys/alpha"}, {"--listen", "[::1]:PORT", "--keys", "keys/beta"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, list := range flags {
				if len(list) > 0 {
					list[1] = strings.Replace(list[1], "PORT", fmt.Sprint(freeport.Find(t, 2)), 1)
				}
			}
			r := launchNew(t, dir, name, slices.Concat(endless, []string{"--workers", "2"}, flags[0])...)
			r.members(2)
			var where struct{ Workers []string }
			text, err := os.ReadFile(filepath.Join(dir, name, "group.json"))
			if err == nil {
				err = json.Unmarshal(text, &where)
			}
			if err != nil {
				t.Fatal(err)
			}
			address, _ := strings.CutPrefix(where.Workers[0], "tcp:")
			v := launch(t, dir, name+"-more", slices.Concat([]string{"train", "--join", address, "--out", name + "-more", "--workers", "2"}, flags[1])...)
			v.until("the newcomers are no members", func() bool {
				s := v.status()
				return len(s.Workers) == 2 && len(s.Workers[0].Members) == 4 && len(s.Workers[1].Members) == 4
			})
			r.trained(20)
			v.interrupt()
			v.tells("joining the workers at ", "the others go on")
			if got := millrace(t, dir, "group", "replay", v.name); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "a machine that joined has no earlier ones") {
				t.Errorf("replay of a part of a run: %+v", got)
			}
			r.members(2)
			r.trained(5)
			r.interrupt()
			if text := r.said.String(); strings.Contains(text, "was lost") {
				t.Errorf("who left is taken for lost: %s", text)
			}
			if p := r.proof(); len(p.Workers) != 4 {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestReplayFindsDifferences gives a replay what does not fit: a checkpoint of other weights, and logs of
// another run.
func TestReplayFindsDifferences(t *testing.T) {
	t.Parallel()
	dir := crewDir(t)
	for _, seed := range []string{"1", "2"} {
		r := launchNew(t, dir, "seed"+seed, "--steps", "20", "--workers", "2", "--seed", seed)
		r.ends(exitDone)
		r.proof()
	}
	at := filepath.Join("checkpoints", "000000000020.checkpoint")
	other, err := os.ReadFile(filepath.Join(dir, "seed2", at))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "seed1", at), other, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := millrace(t, dir, "group", "replay", "seed1")
	if got.code != exitFailed && got.code != exitBadInput || !strings.Contains(got.stderr, "has other numbers after step 20") {
		t.Errorf("another checkpoint: %+v", got)
	}
	for _, path := range []string{filepath.Join("seed1", "workers"), filepath.Join("seed2", "workers")} {
		if err := os.Rename(filepath.Join(dir, path), filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "-"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "seed2-workers"), filepath.Join(dir, "seed1", "workers")); err != nil {
		t.Fatal(err)
	}
	got = millrace(t, dir, "group", "replay", "seed1")
	if got.code != exitFailed || !strings.Contains(got.stderr, "the numbers before step 1 differ: the replay has ") {
		t.Errorf("another run's logs: %+v", got)
	}
	if got := millrace(t, dir, "group", "replay", "seed2"); got.code != exitBadInput || !strings.Contains(got.stderr, "holds no steps of workers") {
		t.Errorf("no logs: %+v", got)
	}
}

// TestJoinUsage checks what cannot be asked of several workers.
func TestJoinUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"train --workers 0":                                   "--workers must be 1 to",
		"train --listen 127.0.0.1:7000":                       "--listen needs --workers or --join",
		"train --workers 2 --listen 7000":                     "--listen: ",
		"train --workers 2 --listen :7000":                    "give the address by which the others reach this machine",
		"train --workers 2 --listen 0.0.0.0:7000":             "give the address by which the others reach this machine",
		"train --workers 2 --listen 127.0.0.1:0":              "the port must be a number from 1 to",
		"train --workers 2 --listen 127.0.0.1:65530":          "the port must be a number from 1 to",
		"train --workers 2 --membership some":                 "--membership must be service or majority",
		"train --workers 2 --membership majority --cluster x": "exclude each other",
		"train --workers 2 --global-batch 3":                  "--global-batch must be fixed or per-worker",
		"train --join 127.0.0.1:1 --epochs 3":                 "--epochs and --join exclude each other",
		"train --join 127.0.0.1:1 --resume x":                 "--join and --resume exclude each other",
		"train --join 192.0.2.1:7000":                         "--join 192.0.2.1:7000 needs --listen",
		"train --join 127.0.0.1:7000,":                        "--join: an address is empty",
		"train --join=":                                       "--join: an address is empty",
		"train --workers 2 --listen 192.0.2.1:7000":           "needs --keys",
		"train --metrics 127.0.0.1:0":                         "--metrics needs --workers or --join",
		"group resize 3":                                      "RUN is missing",
		"cluster keys somewhere":                              "NAME is missing",
	} {
		if got := millrace(t, t.TempDir(), strings.Fields(line)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	dir := crewDir(t)
	if got := millrace(t, dir, "cluster", "keys", "keys", "me"); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	for line, want := range map[string]string{
		"train --join 127.0.0.1:1":                            "--join: no member could be asked",
		"train --workers 2 --keys nowhere/me":                 "nowhere/me is no directory of keys",
		"train --workers 2 --keys nowhere":                    "nowhere is no directory of keys",
		"agent --keys nowhere/me -- true":                     "nowhere/me is no directory of keys",
		"train --workers 2 --metrics :0":                      "beyond loopback, which needs keys",
		"train --workers 2 --metrics nowhere":                 "metrics",
		"group replay pictures":                               "pictures",
		"cluster keys pictures/high/00.png a":                 "00.png",
		"train --workers 2 --cluster nats://x":                "membership service",
		"train --workers 2 --listen 192.0.2.1:70 --keys keys": "cannot listen",
	} {
		got := millrace(t, dir, strings.Fields(line)...)
		if got.code == exitDone || got.code == exitUsage || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "panic") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
