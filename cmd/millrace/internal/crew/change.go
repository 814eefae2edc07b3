package crew

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"millrace.dev/control"
	"millrace.dev/group"
	"millrace.dev/group/reduce"
	"millrace.dev/learn/train"
)

// Change is a change of a group's members.
type Change struct {
	Step    int      `json:"step"` // the first that was decided after it
	View    uint64   `json:"view"` // counts the lists of members that followed each other
	Members []string `json:"members"`
	Reason  string   `json:"reason"`
	Seconds float64  `json:"seconds"` // for which no step was decided
	Batch   int      `json:"batch"`   // samples of a step from now on
	Rate    float64  `json:"rate"`    // learning rate that goes with it, as far as the schedule has come
}

// machine is what a worker can compute with; those of other machines are taken to have the same.
type machine struct{ threads, cores int }

// chronicle is what a member notes of its group's steps, to say what a change means.
type chronicle struct {
	machine machine
	terms   Terms
	batch   int    // Settings.Batch
	name    string // of the member
	guest   bool   // of a group that others have begun elsewhere
	late    bool   // others have noted how it came to the first view

	view      group.View // of the last step, empty before the first
	algorithm string
	skipped   int
	recent    []moment // of steps of this view, the newest last
}

// moment is when a step was decided, and what it trained on.
type moment struct {
	at      time.Time
	samples uint64
	wait    time.Duration // until it was decided, when all was computed here
}

// Steps that a throughput is measured over.
const (
	manySteps = 64
	fewSteps  = 10
)

// SignalPause is how long a change of the members kept the group from its next step.
const SignalPause = "pause"

// The authors of a group's decisions.
const (
	policyView     = "view change"
	policyTopology = "topology"
	policyFinite   = "finite gradients"
)

// step notes a decided step, for which this member waited and whose learning rate was scaled, and returns what was decided before it.
func (c *chronicle) step(now time.Time, wait time.Duration, r group.Result, scale float64) (change *Change, taken []control.Taken, signals []control.Signal) {
	if c.view.Epoch != r.View.Epoch {
		change, taken, signals = c.enter(now, r, scale)
	}
	if r.Outcome == group.Skip && r.Weight > 0 {
		taken = append(taken, c.skip(r))
	}
	if c.recent = append(c.recent, moment{now, r.Weight, wait}); len(c.recent) > manySteps {
		c.recent = slices.Delete(c.recent, 0, 1)
	}
	return change, taken, signals
}

// enter notes the first step of a view.
func (c *chronicle) enter(now time.Time, r group.Result, scale float64) (*Change, []control.Taken, []control.Signal) {
	before := c.view
	n, was := len(r.View.Members), len(before.Members)
	change := &Change{
		Step: int(r.Step), View: r.View.Epoch, Reason: c.reason(before, r.View, r.Reason), Batch: c.terms.batch(c.batch, n),
	}
	for _, m := range r.View.Members {
		change.Members = append(change.Members, m.Name)
	}
	for _, told := range r.Reports {
		change.Rate = max(change.Rate, told.Rate/scale*float64(change.Batch)/float64(c.terms.Base))
	}
	workers := control.Taken{Policy: policyView, Subject: train.SettingWorkers, Proposal: control.Proposal{
		New: control.Number(float64(n)), Reason: change.Reason + "; " + change.sharing(c.terms, was),
	}}
	var signals []control.Signal
	if was > 0 {
		change.Seconds = c.pause(now).Seconds()
		pause := control.Signal{Name: SignalPause, Unit: "ms", Value: 1000 * change.Seconds}
		signals = []control.Signal{pause}
		pause.Point, pause.Time = r.Step, now
		workers.Signals = append(workers.Signals, pause)
		workers.Expect = c.expectThroughput(r.View)
	}
	taken := []control.Taken{workers}
	if r.Algorithm != c.algorithm && r.Algorithm != "" && n > 1 {
		taken = append(taken, topology(r, c.meanWait()))
		c.algorithm = r.Algorithm
	}
	c.view, c.recent = r.View, c.recent[:0]
	if was == 0 && (c.late || !c.guest && strings.HasPrefix(r.Reason, "this worker")) {
		return nil, nil, nil // the others have noted it
	}
	return change, taken, signals
}

// pause is how long no step was decided before now, the first of a view: before the last step of the one before, if
// that was decided with the change of the members.
func (c *chronicle) pause(now time.Time) time.Duration {
	last := c.recent[len(c.recent)-1].at
	pause := now.Sub(last)
	if n := len(c.recent); n > 1 {
		pause = max(pause, last.Sub(c.recent[n-2].at))
	}
	return pause
}

// sharing says what the change means for the steps.
func (x *Change) sharing(t Terms, was int) string {
	text := fmt.Sprintf("%d samples a step for %s, learning rate %.4g", x.Batch, strings.Join(x.Members, " "), x.Rate)
	if t.PerWorker && was > 0 && was != len(x.Members) {
		text += " in proportion"
	}
	return text
}

// reason says what the step from one view to another is: in the words of the group where that knows
// of one change only, else by the names.
func (c *chronicle) reason(before, after group.View, words string) string {
	if before.Epoch == 0 {
		return strings.Replace(words, "this worker", c.name, 1)
	}
	if after.Epoch == before.Epoch+1 && words != "" {
		return words
	}
	var parts []string
	for _, m := range before.Members {
		if !after.Has(m.ID) {
			parts = append(parts, m.Name+" is out")
		}
	}
	for _, m := range after.Members {
		if !before.Has(m.ID) {
			parts = append(parts, m.Name+" has joined")
		}
	}
	return strings.Join(parts, ", ")
}

// expectThroughput is what the view's members should bring: as much more or less than those before
// as there are cores for. It is nil where too few steps were measured.
func (c *chronicle) expectThroughput(after group.View) *control.Expectation {
	if len(c.recent) < fewSteps {
		return nil
	}
	samples, first := uint64(0), c.recent[0].at
	for _, m := range c.recent[1:] {
		samples += m.samples
	}
	took := c.recent[len(c.recent)-1].at.Sub(first).Seconds()
	if took <= 0 {
		return nil
	}
	steps := float64(len(c.recent)-1) / took
	factor := c.machine.capacity(after) / c.machine.capacity(c.view)
	return &control.Expectation{
		Signal: train.SignalThroughput, Unit: "samples/s", Statistic: control.Median,
		Value: float64(samples) / took * factor, Horizon: uint64(min(max(lookAhead*steps, 20), 2000)),
	}
}

// meanWait is what the steps of the view before were waited for, 0 if there were few.
func (c *chronicle) meanWait() (mean time.Duration) {
	if len(c.recent) < fewSteps {
		return 0
	}
	for _, m := range c.recent {
		mean += m.wait / time.Duration(len(c.recent))
	}
	return mean
}

// lookAhead is the time in seconds over which a change is looked back at, about.
const lookAhead = 10

// capacity is how many cores the members of a view keep busy.
func (m machine) capacity(v group.View) float64 {
	threads := map[string]int{}
	for _, x := range v.Members {
		threads[x.Host] += m.threads
	}
	sum := 0
	for _, n := range threads {
		sum += min(n, m.cores)
	}
	return float64(sum)
}

// spare is how many goroutines of a worker may run beside its computation, so that what comes from others is dealt
// with meanwhile.
const spare = 2

// processors is how many goroutines of a worker may run at a time after a step. Workers that share memory and have a core
// for each thread get no spare ones: each thread more that wakes up pushes a computing one from its core, for milliseconds
// where the system puts two of those on one, and all wait for the slower worker. What comes from others waits at most some
// 10 ms then, when the runtime interrupts the computation; a change of the members makes room first. Where more threads
// compute than there are cores they push each other away anyway, and what comes would wait for much longer.
func (m machine) processors(r group.Result) int {
	if r.Algorithm == reduce.Shared.String() && len(r.View.Members)*m.threads == m.cores {
		return m.threads
	}
	return m.threads + spare
}

// makeRoom gives a worker its spare goroutines until the first step after a change of the members, which takes
// many messages one after the other.
func (m machine) makeRoom() { runtime.GOMAXPROCS(m.threads + spare) }

// topology is the choice of how gradients are added up. It should not make the members wait longer at
// the end of a step than they did before, if that was measured.
func topology(r group.Result, wait time.Duration) control.Taken {
	t := control.Taken{Policy: policyTopology, Subject: train.SettingReduction, Proposal: control.Proposal{
		New: control.Word(r.Algorithm), Reason: r.Choice,
	}}
	if wait > 0 {
		t.Expect = &control.Expectation{
			Signal: train.SignalWait, Unit: "ms", Statistic: control.Median, Value: 1000 * wait.Seconds(), Horizon: 2000,
		}
	}
	return t
}

// skip is the decision to pass over a step.
func (c *chronicle) skip(r group.Result) control.Taken {
	c.skipped++
	return control.Taken{Policy: policyFinite, Subject: train.SettingSkipped, Proposal: control.Proposal{
		New:    control.Number(float64(c.skipped)),
		Reason: fmt.Sprintf("the gradient of %s was not finite: step %d changes nothing anywhere", culprit(r), r.Step),
	}}
}

// culprit names the workers whose numbers were not finite.
func culprit(r group.Result) string {
	var names []string
	for _, told := range r.Reports {
		if told.NonFinite {
			names = append(names, told.Name)
		}
	}
	if len(names) == 0 {
		return "a worker"
	}
	return strings.Join(names, " and ")
}
