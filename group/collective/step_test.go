package collective

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace.dev/fabric"
	"millrace.dev/fabric/sim"
	"millrace.dev/group/reduce"
)

// fast is a link with little delay.
var fast = sim.Link{Min: 10 * time.Microsecond, Max: 200 * time.Microsecond}

// ended is how a step ended on one member.
type ended struct {
	facts reduce.Facts
	err   error
	times int
}

// trainer is a member that reduces steps.
type trainer struct {
	member
	reduce.Reducer
	step *Step // the reducer, if it is one
	g, r []float32
	end  ended
}

func (t *trainer) done(f reduce.Facts, err error) {
	t.end = ended{f, err, t.end.times + 1}
}

func (t *trainer) begin(step, m uint64) {
	t.end = ended{}
	t.Begin(step, m, t.done)
}

// use makes s the trainer's reducer.
func (t *trainer) use(s reduce.Reducer) {
	t.Reducer, t.to = s, s
	t.step, _ = s.(*Step)
}

// readyAll makes the gradients ready in random pieces.
func (t *trainer) readyAll(rng *rand.Rand) {
	cuts := []int{0, len(t.g)}
	for range rng.IntN(6) {
		cuts = append(cuts, rng.IntN(len(t.g)+1))
	}
	slices.Sort(cuts)
	for _, i := range rng.Perm(len(cuts) - 1) {
		t.Ready(cuts[i], cuts[i+1])
	}
}

func newTrainers(t testing.TB, n, elements int, rng *rand.Rand) ([]*trainer, []*member) {
	var trainers []*trainer
	var members []*member
	for rank := range n {
		tr := &trainer{g: make([]float32, elements), r: make([]float32, elements)}
		for i := range tr.g {
			tr.g[i] = float32(rng.NormFloat64())
		}
		s, err := NewStep(StepConfig{Epoch: 7, Rank: rank, Size: n, Gradients: tr.g, Result: tr.r, Send: tr.send})
		if err != nil {
			t.Fatal(err)
		}
		s.out.limit = 1 << (10 + rng.IntN(11)) // queues fill
		tr.use(s)
		trainers, members = append(trainers, tr), append(members, &tr.member)
	}
	return trainers, members
}

func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

// check compares what all members got with the serial reference.
func check(t interface{ Fatalf(string, ...any) }, trainers []*trainer, m []uint64) {
	var g [][]float32
	for _, tr := range trainers {
		g = append(g, tr.g)
	}
	want := make([]float32, len(g[0]))
	facts, err := reduce.Serial(trainers[0].Algorithm(), g, m, want)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for rank, tr := range trainers {
		if tr.end.times != 1 || tr.end.err != nil || tr.end.facts != facts {
			rank2, waiting := tr.Waiting()
			t.Fatalf("rank %d of %d, weights %v: done %d times with %+v, %v; want %+v (waits for %d: %s)",
				rank, len(trainers), m, tr.end.times, tr.end.facts, tr.end.err, facts, rank2, waiting)
		}
		if i := sameBits(tr.r, want); i >= 0 {
			t.Fatalf("rank %d of %d, weights %v: element %d is %g, want %g", rank, len(trainers), m, i, tr.r[i], want[i])
		}
	}
}

func TestStepGivesTheSerialBits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "members")
		elements := rapid.OneOf(rapid.SampledFrom([]int{1, max(1, n-1), n, 16 * n, 16*n + 1, reduce.Chunk, reduce.Chunk + 1, 2*reduce.Chunk + 12345}),
			rapid.IntRange(1, 3000)).Draw(rt, "elements")
		seed := rapid.Uint64().Draw(rt, "seed")
		trainers, members := newTrainers(t, n, elements, rand.New(rand.NewPCG(seed, 1)))
		takeSteps(rt, simulated(t, seed, fast, members), trainers, seed)
	})
}

func TestShortVectorsGiveTheSerialBits(t *testing.T) {
	used := map[reduce.Algorithm]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "members")
		elements := rapid.IntRange(1, 3000).Draw(rt, "elements")
		seed := rapid.Uint64().Draw(rt, "seed")
		model := rapid.SampledFrom([]Model{{}, {1e-3, 1e-9}, {1e-6, 1e-8}}).Draw(rt, "model")
		trainers, members := newTrainers(t, n, elements, rand.New(rand.NewPCG(seed, 1)))
		var world *sim.World
		for rank, tr := range trainers {
			s, choice, err := NewReducer(StepConfig{Epoch: 7, Rank: rank, Size: n, Gradients: tr.g, Result: tr.r, Send: tr.send}, clockLater{&world}, model)
			if err != nil || summingAs[choice.Algorithm] != s.Algorithm() {
				t.Fatal(choice, err)
			}
			tr.use(s)
			used[s.Algorithm()] = true
		}
		world = simulated(t, seed, fast, members)
		takeSteps(rt, world, trainers, seed)
	})
	if !testing.Short() && len(used) != 4 {
		t.Errorf("only %v were used", used)
	}
}

// takeSteps takes three steps, each member in its own time.
func takeSteps(rt *rapid.T, w *sim.World, trainers []*trainer, seed uint64) {
	n, rng := len(trainers), rand.New(rand.NewPCG(seed, 2))
	for step := uint64(3); step < 6; step++ {
		m := make([]uint64, n)
		for rank, tr := range trainers {
			if rng.IntN(4) > 0 {
				m[rank] = 1 + uint64(rng.IntN(100))
			}
			if step == 5 && rng.IntN(3) == 0 {
				tr.g[rng.IntN(len(tr.g))] = float32(math.Inf(1))
			}
		}
		for rank, tr := range trainers {
			rng := rand.New(rand.NewPCG(seed, uint64(rank)))
			w.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, func() {
				tr.begin(step, m[rank])
				w.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, func() { tr.readyAll(rng) })
			})
		}
		w.Run(100 * time.Millisecond)
		check(rt, trainers, m)
	}
}

// Steps may follow each other without a commit in between, as long as the gradients stay.
func TestStepsBackToBack(t *testing.T) {
	for seed := range seeds(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n := 2 + rng.IntN(3)
		trainers, members := newTrainers(t, n, 1+rng.IntN(6*reduce.Chunk), rng)
		w := simulated(t, seed, sim.Link{Min: 10 * time.Microsecond, Max: 2 * time.Millisecond, Bandwidth: 1e9}, members)
		g := [][]float32{}
		m := make([]uint64, n)
		for rank, tr := range trainers {
			g, m[rank] = append(g, tr.g), 1+uint64(rank)
		}
		want := make([]float32, len(g[0]))
		facts, err := reduce.Serial(reduce.Ring, g, m, want)
		if err != nil {
			t.Fatal(err)
		}
		const steps = 4
		ends := make([]int, n)
		for rank, tr := range trainers {
			var next func()
			next = func() {
				if ends[rank] == steps {
					return
				}
				tr.Begin(uint64(ends[rank]), m[rank], func(f reduce.Facts, err error) {
					if i := sameBits(tr.r, want); i >= 0 || err != nil || f != facts {
						t.Errorf("seed %d: rank %d, step %d: %+v, %v, element %d", seed, rank, ends[rank], f, err, i)
					}
					ends[rank]++
					w.AfterFunc(0, next)
				})
				tr.readyAll(rng)
			}
			next()
		}
		w.Run(10 * time.Second)
		for rank := range ends {
			if ends[rank] != steps {
				_, what := trainers[rank].Waiting()
				t.Fatalf("seed %d: rank %d has done %d steps and waits for %s", seed, rank, ends[rank], what)
			}
		}
	}
}

// A member that is late keeps no more of a step than it may, and its neighbour waits.
func TestStepKeepsLittleOfAStepToCome(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	trainers, members := newTrainers(t, 2, 13*reduce.Chunk, rng)
	w := simulated(t, 1, fast, members)
	trainers[0].begin(1, 5)
	trainers[0].readyAll(rng)
	w.Run(time.Second)
	if k := trainers[1].step.keptBytes; k < EarlyStep/2 || k > EarlyStep {
		t.Fatalf("the late member keeps %d bytes", k)
	}
	if rank, what := trainers[0].Waiting(); rank != 1 {
		t.Fatalf("waits for %d: %s", rank, what)
	}
	trainers[1].begin(1, 7)
	if trainers[1].step.keptBytes != 0 || trainers[1].step.kept != nil {
		t.Fatal("what was kept is still there")
	}
	trainers[1].readyAll(rng)
	w.Run(time.Second)
	check(t, trainers, []uint64{5, 7})
}

// lateBegun is a receiver that hears only later that its right member has begun the step.
type lateBegun struct {
	*Step
	late []func() error
}

func (l *lateBegun) Frame(from int, h fabric.Header, body []byte) error {
	if h.Type == stepBegun {
		l.late = append(l.late, func() error { return l.Step.Frame(from, h, body) })
		return nil
	}
	return l.Step.Frame(from, h, body)
}

// The word that the right member has begun may come after the step is complete here: then what was held back goes.
func TestStepBegunComesLast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	trainers, members := newTrainers(t, 3, 4*reduce.Chunk, rng)
	late := &lateBegun{Step: trainers[0].step}
	trainers[0].to = late
	w := simulated(t, 1, fast, members)
	for rank, tr := range trainers {
		tr.begin(1, 5+uint64(rank))
		tr.readyAll(rng)
	}
	w.Run(time.Second)
	if trainers[0].end.times != 1 || trainers[1].end.times != 0 || len(late.late) != 1 {
		t.Fatalf("done %d and %d times, %d words were late", trainers[0].end.times, trainers[1].end.times, len(late.late))
	}
	if err := late.late[0](); err != nil {
		t.Fatal(err)
	}
	w.Run(time.Second)
	check(t, trainers, []uint64{5, 6, 7})
}

func TestStepCancel(t *testing.T) {
	reason := errors.New("the members changed")
	for seed := range seeds(100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := 2 + rng.IntN(4)
		trainers, members := newTrainers(t, n, 1+rng.IntN(20000)*(1+20*int(seed%16/15)), rng)
		var w *sim.World
		if seed%3 == 0 {
			for rank, tr := range trainers {
				s, err := newWhole(StepConfig{Epoch: 7, Rank: rank, Size: n, Gradients: tr.g, Result: tr.r, Send: tr.send}, clockLater{&w}, HalvingDoubling)
				if err != nil {
					t.Fatal(err)
				}
				tr.use(s)
			}
		}
		w = simulated(t, seed, fast, members)
		for _, tr := range trainers {
			tr.begin(9, 3)
			if rng.IntN(20) > 0 {
				tr.readyAll(rng)
			}
		}
		w.Run(time.Duration(rng.IntN(1000)) * time.Microsecond)
		victim := trainers[rng.IntN(n)]
		before := victim.end
		victim.Cancel(reason)
		victim.Cancel(errors.New("again"))
		w.Run(time.Second)
		if before.times == 0 && (victim.end.times != 1 || victim.end.err != reason) || before.times == 1 && victim.end != before {
			t.Fatalf("cancelled: %+v, before %+v", victim.end, before)
		}
		kept := slices.Clone(victim.r)
		w.Run(time.Second)
		if i := sameBits(kept, victim.r); i >= 0 {
			t.Fatal("the result changed after a cancelled step was done")
		}
		victim.end = ended{}
		victim.Begin(10, 3, victim.done)
		if victim.end.err != reason {
			t.Fatalf("a cancelled reducer begins a step: %+v", victim.end)
		}
	}
}

func TestStepCancelWaitsForWhatIsBeingReceived(t *testing.T) {
	trainers, _ := newTrainers(t, 2, 100, rand.New(rand.NewPCG(1, 1)))
	for _, tr := range trainers {
		tr.conns = []fabric.Conn{nowhere{}, nowhere{}}
	}
	tr := trainers[0]
	h := fabric.Header{Type: stepData, Epoch: 7, Step: 1, Flags: flagRaw, Aux: 1}
	from, to := tr.step.bounds(0)
	h.Length = uint32(4 * (to - from))
	for _, closes := range []bool{false, true} {
		s, err := NewStep(StepConfig{Epoch: 7, Rank: 0, Size: 2, Gradients: tr.g, Result: tr.r, Send: tr.send})
		if err != nil {
			t.Fatal(err)
		}
		tr.end = ended{}
		s.Begin(1, 1, tr.done)
		body, err := s.Body(1, h)
		if err != nil || len(body) != int(h.Length) {
			t.Fatal(body, err)
		}
		s.Cancel(errors.New("stop"))
		if tr.end.times != 0 {
			t.Fatal("done while a frame is being received into the result")
		}
		if closes {
			s.Closed(1)
		} else if err := s.Frame(1, h, body); err != nil {
			t.Fatal(err)
		}
		if tr.end.times != 1 || tr.end.err == nil {
			t.Fatalf("%+v", tr.end)
		}
	}
}

// nowhere is a connection that swallows what is sent.
type nowhere struct{ fabric.Conn }

func (nowhere) Send(fabric.Priority, fabric.Header, []byte, func(error)) {}

func TestStepOtherVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	trainers, members := newTrainers(t, 3, 100, rng)
	odd := trainers[1]
	odd.g, odd.r = make([]float32, 101), make([]float32, 101)
	s, err := NewStep(StepConfig{Epoch: 7, Rank: 1, Size: 3, Gradients: odd.g, Result: odd.r, Send: odd.send})
	if err != nil {
		t.Fatal(err)
	}
	odd.use(s)
	w := simulated(t, 1, fast, members)
	for _, tr := range trainers {
		tr.begin(1, 1)
		tr.readyAll(rng)
	}
	w.Run(time.Second)
	if err := trainers[0].end.err; err == nil || err.Error() != "collective: the gradient vector has 101 elements on rank 1 but 100 on rank 0" {
		t.Fatal(err)
	}
}

// Frames that make no sense are errors and nothing else.
func FuzzStepFrames(f *testing.F) {
	f.Add(uint8(stepData), uint8(flagRaw), uint64(7), uint64(1), uint64(1), uint32(0), uint32(0), uint32(64), 1)
	f.Add(uint8(stepBegun), uint8(0), uint64(7), uint64(1), uint64(100), uint32(0), uint32(0), uint32(0), 1)
	f.Fuzz(func(t *testing.T, kind, flags uint8, epoch, step, aux uint64, bucket, chunk, length uint32, from int) {
		g, r := make([]float32, 100), make([]float32, 100)
		s, err := NewStep(StepConfig{Epoch: 7, Rank: 0, Size: 3, Gradients: g, Result: r,
			Send: func(int, fabric.Priority, fabric.Header, []byte, func(error)) {}})
		if err != nil {
			t.Fatal(err)
		}
		h := fabric.Header{Type: kind, Flags: flags, Epoch: epoch, Step: step, Aux: aux, Bucket: bucket, Chunk: chunk, Length: length % fabric.MaxBulk}
		feed := func() {
			var body []byte
			if h.Length > 0 {
				b, err := s.Body(from, h)
				if err != nil {
					return
				}
				if len(b) != int(h.Length) {
					t.Fatalf("%d bytes for a body of %d", len(b), h.Length)
				}
				body = b
			}
			s.Frame(from, h, body)
		}
		feed()
		s.Begin(1, 4, func(reduce.Facts, error) {})
		feed()
		s.Ready(0, 100)
		feed()
		s.Cancel(errors.New("over"))
		feed()
	})
}

// TestStepFindsOtherWeights: the sums of all segments are over the same samples, or the step fails.
func TestStepFindsOtherWeights(t *testing.T) {
	const elements, own, others = 100, 4, 2
	for _, said := range []uint64{own + others, own + others + 1} {
		g, r := make([]float32, elements), make([]float32, elements)
		s, err := NewStep(StepConfig{Epoch: 7, Rank: 0, Size: 2, Gradients: g, Result: r,
			Send: func(int, fabric.Priority, fabric.Header, []byte, func(error)) {}})
		if err != nil {
			t.Fatal(err)
		}
		var facts reduce.Facts
		over := errors.New("not over")
		s.Begin(1, own, func(f reduce.Facts, err error) { facts, over = f, err })
		s.Ready(0, elements)
		for _, h := range []fabric.Header{ // a partial sum to which this member adds the last part, and the sum of the rest
			{Flags: flagRaw, Aux: others, Bucket: 0},
			{Flags: flagFinal, Aux: said, Bucket: 1},
		} {
			from, to := s.bounds(int(h.Bucket))
			h.Type, h.Epoch, h.Step, h.Length = stepData, 7, 1, uint32(4*(to-from))
			body, err := s.Body(1, h)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Frame(1, h, body); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case said == own+others:
			if over != nil || facts.Weight != own+others || !facts.Finite {
				t.Errorf("%+v, %v", facts, over)
			}
		case over == nil || !strings.Contains(over.Error(), "7 samples contributed to chunk 0, others say 6"):
			t.Errorf("%+v, %v", facts, over)
		}
	}
}

func TestStepOverSockets(t *testing.T) {
	for _, kind := range []string{"unix", "tcp"} {
		for _, n := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s%d", kind, n), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(n)))
				elements := 3*reduce.Chunk + 1000
				trainers, members := newTrainers(t, n, elements, rng)
				overSockets(t, kind, members)
				before := edges(members)
				const steps = 3
				for step := range uint64(steps) {
					ends := make(chan int)
					m := make([]uint64, n)
					for rank, tr := range trainers {
						m[rank] = 1 + uint64(rank) + step
						go func() {
							rng := rand.New(rand.NewPCG(step, uint64(rank)))
							tr.end = ended{}
							tr.Begin(step, m[rank], func(f reduce.Facts, err error) {
								tr.done(f, err)
								ends <- rank
							})
							tr.readyAll(rng)
						}()
					}
					for range trainers {
						<-ends
					}
					check(t, trainers, m)
				}
				checkEdges(t, before, edges(members), 4*elements*steps, n)
			})
		}
	}
}

// edges returns the bytes that each member has sent to each.
func edges(members []*member) [][]uint64 {
	sent := make([][]uint64, len(members))
	for r, m := range members {
		sent[r] = make([]uint64, len(members))
		for to, c := range m.conns {
			if to != r {
				sent[r][to] = c.Stats().BytesSent
			}
		}
	}
	return sent
}

// checkEdges asserts what a ring sends: 2S(n-1)/n bytes over each of its edges, next to nothing elsewhere.
func checkEdges(t *testing.T, before, after [][]uint64, bytes, n int) {
	t.Helper()
	want := 2 * float64(bytes) * float64(n-1) / float64(n)
	for r := range after {
		for to := range after[r] {
			got := float64(after[r][to] - before[r][to])
			if to == (r+1)%n && math.Abs(got-want) > 0.05*want {
				t.Errorf("edge %d→%d carried %.0f bytes, want %.0f ± 5 %%", r, to, got, want)
			}
			if to != (r+1)%n && got > 0.01*want {
				t.Errorf("%d→%d is no edge of the ring but carried %.0f bytes", r, to, got)
			}
		}
	}
}
