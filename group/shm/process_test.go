package shm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"millrace.dev/group/reduce"
)

// The tests of this file run each member in a process of its own: the test binary again, with a line of JSON for each
// order on stdin and each answer on stdout.

const memberEnv = "SHM_TEST_MEMBER"

// order is what a test tells a member to do.
type order struct {
	Do       string // attach, step, start, wait, cancel, comm, sum, mix, mixed, unmix, latency, …
	Epoch    uint64
	Members  []int // numbers of the workers of the view, by rank
	Step     uint64
	Seed     uint64 // of the gradients, with the worker's number
	Weights  []uint64
	Elements int
	Times    int
}

// answer is what a member says when it is done.
type answer struct {
	Error   string
	Facts   reduce.Facts
	Seconds float64
	CPU     float64 // seconds
}

// member is a worker in a process of its own.
type member struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
}

func startMember(tb testing.TB, dir string, number, elements int) *member {
	tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", memberEnv, number, elements, dir))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	m := &member{number, cmd, in, json.NewDecoder(bufio.NewReader(out))}
	tb.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	return m
}

func startMembers(tb testing.TB, n, elements int) []*member {
	tb.Helper()
	dir := tb.TempDir()
	all := make([]*member, n)
	for i := range all {
		all[i] = startMember(tb, dir, i, elements)
	}
	for _, m := range all { // all have doors before anybody knocks
		m.greet(tb)
	}
	return all
}

func (m *member) greet(tb testing.TB) { m.tell(tb, order{Do: "hello"}); m.hear(tb) }

func (m *member) tell(tb testing.TB, o order) {
	tb.Helper()
	if err := json.NewEncoder(m.in).Encode(o); err != nil {
		tb.Fatalf("worker %d: %v", m.number, err)
	}
}

func (m *member) hear(tb testing.TB) answer {
	tb.Helper()
	var a answer
	if err := m.out.Decode(&a); err != nil {
		tb.Fatalf("worker %d: %v", m.number, err)
	}
	return a
}

func (m *member) kill(tb testing.TB) {
	tb.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		tb.Fatal(err)
	}
	m.cmd.Wait() //nolint:errcheck // it was killed
}

// stopFor lets a member stand still.
func (m *member) stopFor(tb testing.TB, d time.Duration) {
	tb.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	time.Sleep(d)
	if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		tb.Fatal(err)
	}
}

// all tells everybody the same and returns the answers.
func all(tb testing.TB, members []*member, o order) []answer {
	tb.Helper()
	for _, m := range members {
		m.tell(tb, o)
	}
	answers := make([]answer, len(members))
	for i, m := range members {
		if answers[i] = m.hear(tb); answers[i].Error != "" {
			tb.Fatalf("worker %d, %s: %s", m.number, o.Do, answers[i].Error)
		}
	}
	return answers
}

func numbers(members []*member) (list []int) {
	for _, m := range members {
		list = append(list, m.number)
	}
	return list
}

// process is the state of a member's process.
type process struct {
	number int
	dir    string
	worker *worker
	comm   *Comm
	result chan outcome
	mixed  <-chan error
	kept   []float32
}

func (p *process) id(number int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, p.dir, number)
	return h.Sum64()
}

// serveMember is the main function of a member's process.
func serveMember(spec string) int {
	p := &process{result: make(chan outcome, 1)}
	var elements int
	if _, err := fmt.Sscan(spec, &p.number, &elements, &p.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := p.open(elements); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			return 0 // the test is over
		}
		a, err := p.obey(o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return 1
		}
	}
}

func (p *process) open(elements int) (err error) {
	w := &worker{id: p.id(p.number)}
	p.worker = w
	if w.door, err = Open(w.id); err != nil {
		return err
	}
	w.door.patience = ample
	if w.vector, err = NewVector(elements); err != nil {
		return err
	}
	if w.mean, err = NewMean(elements); err != nil {
		return err
	}
	return nil
}

// view describes the view of an order.
func (p *process) view(o order) View {
	v := View{Epoch: o.Epoch}
	for rank, number := range o.Members {
		v.IDs = append(v.IDs, p.id(number))
		if number == p.number {
			v.Rank = rank
		}
	}
	return v
}

// gradients are those of a worker for a seed; all processes can make them.
func gradients(g []float32, seed uint64, number int) {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	draw(r, g, r.IntN(8) == 0)
}

func (p *process) obey(o order) (a answer, err error) {
	before := cpuSeconds()
	defer func() { a.CPU = cpuSeconds() - before }()
	w := p.worker
	switch o.Do {
	case "hello":
	case "attach":
		if old := w.get(); old != nil {
			old.Close() //nolint:errcheck // always nil
		}
		start := time.Now()
		team, err := w.door.Attach(bounded(), Config{View: p.view(o), Vector: w.vector, Mean: w.mean})
		w.mu.Lock()
		w.team = team
		w.mu.Unlock()
		a.Seconds = time.Since(start).Seconds()
		return a, err
	case "start": // and do not wait
		gradients(w.vector.g, o.Seed, p.number)
		p.kept = append(p.kept[:0], w.vector.g...)
		return a, p.start(o)
	case "again":
		return a, p.start(o)
	case "wait":
		got := <-p.result
		if a.Facts, err = got.facts, got.err; err == nil {
			err = p.verify(o, got.facts)
		}
		return a, err
	case "cancel":
		start := time.Now()
		w.get().Cancel(errors.New("a member is gone"))
		a.Seconds = time.Since(start).Seconds()
		if got := <-p.result; got.err == nil {
			return a, errors.New("the step has ended well")
		}
		if i := sameBits(p.kept, w.vector.g); i >= 0 {
			return a, fmt.Errorf("element %d of the gradients has changed", i)
		}
	case "comm":
		if p.comm != nil {
			p.comm.Close() //nolint:errcheck // always nil
		}
		comm, err := w.door.Join(bounded(), p.view(o))
		p.comm = comm
		return a, err
	case "sum":
		return a, p.sum(o)
	case "mix": // and do not wait
		m := drawMix(o.Seed, len(p.comm.boards), o.Times)
		p.mixed = m.start(p.comm)
	case "mixed":
		err = <-p.mixed
	case "unmix":
		gone := errors.New("a member is gone")
		p.comm.Cancel(gone)
		if err = <-p.mixed; errors.Is(err, gone) {
			err = nil
		}
	case "latency":
		a.Seconds, err = p.latency(o)
		return a, err
	case "throughput":
		a.Seconds, err = p.throughput(o)
		return a, err
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	return a, err
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) //nolint:errcheck // fails for wrong arguments only
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

// start begins a step and gets ready in a random order.
func (p *process) start(o order) error {
	rank := p.worker.get().config.Rank
	p.worker.get().Begin(o.Step, o.Weights[rank], func(f reduce.Facts, err error) { p.result <- outcome{f, err} })
	r := rand.New(rand.NewPCG(o.Seed, uint64(1000+p.number)))
	for _, part := range ranges(r, len(p.worker.vector.g)) {
		p.worker.get().Ready(part[0], part[1])
	}
	return nil
}

// verify computes a step alone and compares.
func (p *process) verify(o order, facts reduce.Facts) error {
	g := make([][]float32, len(o.Members))
	for rank, number := range o.Members {
		g[rank] = make([]float32, len(p.worker.vector.g))
		gradients(g[rank], o.Seed, number)
	}
	want := make([]float32, len(g[0]))
	wantFacts, err := reduce.Serial(reduce.Shared, g, o.Weights, want)
	if err != nil {
		return err
	}
	if facts != wantFacts {
		return fmt.Errorf("facts %+v, want %+v", facts, wantFacts)
	}
	if i := sameBits(want, p.worker.mean.r); i >= 0 {
		return fmt.Errorf("element %d is %g, want %g", i, p.worker.mean.r[i], want[i])
	}
	return nil
}

func (p *process) sum(o order) error {
	bufs := make([][]float32, len(o.Members))
	var mine []float32
	for rank, number := range o.Members {
		bufs[rank] = make([]float32, o.Elements)
		gradients(bufs[rank], o.Seed, number)
		if number == p.number {
			mine = append([]float32(nil), bufs[rank]...)
		}
	}
	if err := p.comm.do(sumOf(mine)); err != nil {
		return err
	}
	if i := sameBits(sumInOrder(bufs), mine); i >= 0 {
		return fmt.Errorf("element %d of %d differs", i, o.Elements)
	}
	return nil
}

// latency is the time of one operation in a row of many.
func (p *process) latency(o order) (float64, error) {
	buf := make([]float32, o.Elements)
	start := time.Now()
	for range o.Times {
		if err := p.comm.do(sumOf(buf)); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / float64(o.Times), nil
}

// throughput is the time of one step in a row of many.
func (p *process) throughput(o order) (float64, error) {
	team := p.worker.get()
	start := time.Now()
	for i := range o.Times {
		team.Begin(o.Step+uint64(i), 1, func(f reduce.Facts, err error) { p.result <- outcome{f, err} })
		team.Ready(0, team.layout.elements)
		if got := <-p.result; got.err != nil {
			return 0, got.err
		}
	}
	return time.Since(start).Seconds() / float64(o.Times), nil
}

func bounded() context.Context { return context.Background() }
