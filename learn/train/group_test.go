package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// meeting is a group within the process: its members exchange gradients through memory, under
// one lock. Everything it does is obvious; it loses and admits members between steps only.
type meeting struct {
	mu      sync.Mutex
	changed *sync.Cond
	samples int
	batch   int

	members  []*seat
	place    Place
	done     int          // members that have committed the step
	round    int          // steps decided
	verdicts []Verdict    // by round
	skip     map[int]bool // steps whose gradients are spoilt
	taken    map[int][]control.Taken
	state    []byte // of the first member between two steps, for newcomers
	numbers  [][]float32
}

func newMeeting(samples, batch int) *meeting {
	m := &meeting{samples: samples, batch: batch, skip: map[int]bool{}}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// seat is a member of a meeting.
type seat struct {
	*meeting
	local, mean []float32
	transfer    Transfer
	fresh       bool // has to get the others' state
	leaving     bool
	share       Share
	own         Tally
	ready       int
	shares      [][]data.Span
	log         []logged
}

// logged is what a member knows of one of its steps.
type logged struct {
	share Share
	rate  float64
	hash  uint64
}

func (m *meeting) seat(fresh bool) *seat {
	s := &seat{meeting: m, fresh: fresh}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.members = append(m.members, s)
	return s
}

func (s *seat) Join(n int, from Place, t Transfer) (local, mean []float32, err error) {
	if s.round == 0 {
		s.place = from
	}
	s.local, s.mean, s.transfer = make([]float32, n), make([]float32, n), t
	return s.local, s.mean, nil
}

func (s *seat) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
	s.changed.Broadcast()
}

// awaitLeave waits until the member was asked to leave.
func (s *seat) awaitLeave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.leaving {
		s.changed.Wait()
	}
}

func (s *seat) rank() int {
	for i, m := range s.members {
		if m == s {
			return i
		}
	}
	return -1
}

func (s *seat) Begin(context.Context) (Share, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rank() < 0 {
		return Share{}, ErrLeft
	}
	if s.fresh {
		for s.state == nil {
			s.changed.Wait()
		}
		for i, v := range s.numbers {
			copy(s.transfer.Vectors()[i], v)
		}
		s.fresh, s.ready, s.share = false, 0, Share{Scale: 1}
		return s.share, s.transfer.Adopt(s.state)
	}
	if last := s.members[len(s.members)-1]; last.fresh && s.state == nil {
		var err error
		if s.state, err = s.transfer.Describe(); err != nil {
			return Share{}, err
		}
		for _, v := range s.transfer.Vectors() {
			s.numbers = append(s.numbers, slices.Clone(v))
		}
		s.changed.Broadcast()
	}
	at := s.place
	size := min(s.batch, s.samples-at.Cursor.Position)
	lo, hi := size*s.rank()/len(s.members), size*(s.rank()+1)/len(s.members)
	s.ready = 0
	s.share = Share{Epoch: at.Cursor.Epoch, Offset: lo, Scale: 1, Leader: s.rank() == 0}
	if lo < hi {
		s.share.Spans = []data.Span{{From: at.Cursor.Position + lo, To: at.Cursor.Position + hi}}
	}
	s.shares = append(s.shares, s.share.Spans)
	return s.share, nil
}

// checkNorm compares the norm that a member tells with its gradients.
func (s *seat) checkNorm(own Tally) error {
	if !own.Finite || len(s.share.Spans) == 0 {
		return nil
	}
	sum := 0.0
	for _, g := range s.local[:len(s.transfer.Vectors()[0])] {
		sum += float64(g) * float64(g)
	}
	if math.Abs(sum-own.Norm2) > 1e-5*sum {
		return fmt.Errorf("a member tells that the squared norm of its gradients is %g, and it is %g", own.Norm2, sum)
	}
	return nil
}

func (s *seat) Ready(lo, hi int) { s.ready += hi - lo }

func (s *seat) Commit(_ context.Context, own Tally) (Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready != len(s.local) {
		return Verdict{}, errors.New("not all gradients are ready")
	}
	if err := s.checkNorm(own); err != nil {
		return Verdict{}, err
	}
	s.own = own
	s.log = append(s.log, logged{s.share, own.Rate, own.Hash})
	s.done++
	round := s.round
	if s.done == len(s.members) {
		s.decide()
		s.changed.Broadcast()
	}
	for s.round == round {
		s.changed.Wait()
	}
	return s.verdicts[round], nil
}

func (m *meeting) decide() {
	v := Verdict{Apply: !m.skip[m.round], Taken: m.taken[m.round]}
	v.Signals = []control.Signal{{Name: "pause", Unit: "ms", Value: float64(m.round)}}
	weight := 0
	for _, s := range m.members {
		weight += s.share.Samples()
		v.Total.addAll(s.own.Metrics)
		v.Apply = v.Apply && s.own.Finite
	}
	for i := range m.members[0].mean {
		sum := float32(0)
		for _, s := range m.members {
			if k := s.share.Samples(); k > 0 {
				sum += float32(k) * s.local[i]
			}
		}
		for _, s := range m.members {
			s.mean[i] = sum / float32(weight)
		}
	}
	m.place.Step++
	m.place.Cursor.Position += min(m.batch, m.samples-m.place.Cursor.Position)
	if m.place.Cursor.Position == m.samples {
		m.place.Cursor = data.Cursor{Epoch: m.place.Cursor.Epoch + 1}
	}
	v.Next = m.place
	var stay []*seat
	for _, s := range m.members {
		if !s.leaving {
			stay = append(stay, s)
		}
	}
	m.members, m.done, m.verdicts = stay, 0, append(m.verdicts, v)
	m.round++
}

// trainTogether runs a trainer for every seat.
func trainTogether(t *testing.T, make func() Config, seats ...*seat) []*Trainer {
	t.Helper()
	trainers := []*Trainer{}
	for _, s := range seats {
		cfg := make()
		cfg.Group = s
		tr, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		trainers = append(trainers, tr)
	}
	var wg sync.WaitGroup
	for _, tr := range trainers {
		wg.Go(func() {
			if err := tr.Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return trainers
}

// exact is a run without chance and without numbers that depend on how a batch is cut.
func exact(t *testing.T) Config {
	cfg := config(t)
	var err error
	cfg.Model, err = nn.Sequential("net", nn.Input("image", 6, 6, 1), nn.Flatten{}, nn.Dense{Units: 8, Act: nn.Tanh}, nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Optimizer = optim.SGD(0.9)
	cfg.Schedule = optim.Constant(0.05)
	return cfg
}

func close32(a, b []float32, tolerance float64) bool {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > tolerance*(1+math.Abs(float64(b[i]))) {
			return false
		}
	}
	return true
}

// TestGroupOfOne checks that a group of one does what a trainer alone does, with everything that
// has chance and a state in it.
func TestGroupOfOne(t *testing.T) {
	want := mustTrain(t, config(t))
	got := trainTogether(t, func() Config { return config(t) }, newMeeting(100, 16).seat(false))[0]
	if !close32(got.Vectors().Params, want.Vectors().Params, 1e-3) || !close32(got.Vectors().States, want.Vectors().States, 1e-3) {
		t.Error("a group of one ends elsewhere")
	}
	g, w := got.State(), want.State()
	if g.Step != w.Step || g.Cursor != w.Cursor || len(g.Epochs) != len(w.Epochs) {
		t.Errorf("%+v, want %+v", g, w)
	}
}

// TestGroupFollowsOneWorker checks that workers together take the steps of one with their batch.
func TestGroupFollowsOneWorker(t *testing.T) {
	want := mustTrain(t, exact(t))
	for n := 2; n <= 5; n++ {
		m := newMeeting(100, 16)
		var seats []*seat
		for range n {
			seats = append(seats, m.seat(false))
		}
		all := trainTogether(t, func() Config { return exact(t) }, seats...)
		for i, tr := range all {
			if !close32(tr.Vectors().Params, want.Vectors().Params, 1e-3) {
				t.Errorf("worker %d of %d ends elsewhere", i, n)
			}
			sameVectors(t, "worker", tr.Vectors(), all[0].Vectors())
			a, b := tr.State().Epochs, want.State().Epochs
			for k := range b {
				if a[k].Train.Samples != b[k].Train.Samples || math.Abs(a[k].Train.Loss()-b[k].Train.Loss()) > 1e-3 {
					t.Errorf("worker %d of %d, epoch %d: %+v, want %+v", i, n, k, a[k].Train, b[k].Train)
				}
			}
		}
	}
}

// TestNewcomer checks that one that joins later gets all of the others' state, with what the
// policies know, and ends with the same bits.
func TestNewcomer(t *testing.T) {
	stops := func() Config {
		cfg := config(t)
		cfg.Stop = &control.EarlyStop{Setting: SettingTraining, Signal: SignalValidLoss, Patience: 3}
		return cfg
	}
	m := newMeeting(100, 16)
	first := m.seat(false)
	cfg := stops()
	cfg.Group = first
	old, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	newer := stops()
	late := &seat{meeting: m, fresh: true}
	newer.Group = late
	newer.Seed = cfg.Seed
	other, err := New(newer)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	old.Observe(&atEpoch{2, func() {
		m.mu.Lock()
		m.members = append(m.members, late)
		m.mu.Unlock()
		wg.Go(func() {
			if err := other.Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}})
	if err := old.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	sameVectors(t, "the newcomer", other.Vectors(), old.Vectors())
	if a, b := other.loop.Setting(SettingRateFactor), old.loop.Setting(SettingRateFactor); a != b {
		t.Errorf("the newcomer's learning rate factor is %v, the other's %v", a, b)
	}
	if a, b := other.Hash(), old.Hash(); a != b || other.State().Best != old.State().Best {
		t.Errorf("hashes %x and %x, best %+v and %+v", a, b, other.State().Best, old.State().Best)
	}
	if len(late.shares) == 0 || len(late.shares[0]) == 0 {
		t.Error("the newcomer has trained on nothing")
	}
}

// atEpoch calls do at an epoch's end.
type atEpoch struct {
	number int
	do     func()
}

func (a *atEpoch) Window(Progress)   {}
func (a *atEpoch) WriteFailed(error) {}
func (a *atEpoch) Epoch(e Epoch) {
	if e.Number == a.number {
		a.do()
	}
}

// TestSkippedSteps checks that a skipped step changes nothing but the counters, and that too many
// end the run with the one to blame.
// TestJournalOfGroup checks that what a group decides and measures is in a worker's journal, the
// decision after the step before it.
func TestJournalOfGroup(t *testing.T) {
	m := newMeeting(100, 16)
	m.taken = map[int][]control.Taken{3: {{Policy: "group", Subject: "workers", Proposal: control.Proposal{
		New: control.Number(2), Reason: "w2 was lost",
		Expect: &control.Expectation{Signal: "pause", Unit: "ms", Statistic: control.Highest, Value: 3, Horizon: 2},
	}}}}
	cfg := exact(t)
	cfg.Plateau = nil
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var err error
	if cfg.Journal, err = control.OpenJournal(path); err != nil {
		t.Fatal(err)
	}
	trainTogether(t, func() Config { return cfg }, m.seat(false))
	if err := cfg.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	decisions, _, err := control.ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(decisions) != 1 || decisions[0].Point != 3 || decisions[0].Observed == nil || decisions[0].Observed.Value != 4 || decisions[0].Observed.Samples != 2 {
		t.Errorf("got %+v", decisions)
	}
}

func TestSkippedSteps(t *testing.T) {
	m := newMeeting(100, 16)
	m.skip = map[int]bool{3: true, 4: true, 5: true}
	cfg := config(t)
	cfg.Group = m.seat(false)
	tr := mustTrain(t, cfg)
	if tr.State().Step != 28 {
		t.Errorf("%d steps", tr.State().Step)
	}
	m = newMeeting(100, 16)
	m.skip = map[int]bool{3: true, 4: true, 5: true, 6: true}
	cfg.Group = m.seat(false)
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var bad *DivergedError
	if err := tr.Run(context.Background()); !errors.As(err, &bad) || bad.Step != 7 {
		t.Errorf("%v", err)
	}
}

// TestNotFiniteInGroup checks that a worker whose numbers are not finite says so and names the layer.
func TestNotFiniteInGroup(t *testing.T) {
	cfg := exact(t)
	cfg.Schedule = optim.Constant(1e38)
	cfg.Group = newMeeting(100, 16).seat(false)
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = tr.Run(context.Background())
	var bad *DivergedError
	if !errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
}

// TestLeaveInGroup checks that an interrupted worker leaves after a step that counts, and the
// other goes on to the end.
func TestLeaveInGroup(t *testing.T) {
	m := newMeeting(100, 16)
	a, b := m.seat(false), m.seat(false)
	cfgA, cfgB := exact(t), exact(t)
	cfgA.Group, cfgB.Group, cfgB.Dir = a, b, t.TempDir()
	stay, err := New(cfgA)
	if err != nil {
		t.Fatal(err)
	}
	goes, err := New(cfgB)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	goes.Observe(&atEpoch{1, func() {
		stop()
		b.awaitLeave()
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := goes.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	if err := stay.Run(context.Background()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if s := goes.State().Step; s < 7 || s >= 28 || stay.State().Step != 28 {
		t.Errorf("left after step %d, the other ended after %d", s, stay.State().Step)
	}
	if c, _ := checkpoints(cfgB.Dir); len(c) != 0 {
		t.Errorf("one that does not lead has written %v", c)
	}
}

// TestReplay checks that one process, with the shares and the order of additions of three, ends
// with their bits: batch norm, dropout, augmentation and all.
func TestReplay(t *testing.T) {
	m := newMeeting(100, 16)
	m.skip[5] = true
	seats := []*seat{m.seat(false), m.seat(false), m.seat(false)}
	want := trainTogether(t, func() Config { return config(t) }, seats...)[0]
	r, err := NewReplay(config(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range seats[0].log {
		weight := 0
		sums := make([]float32, len(r.Mean()))
		if h := seats[0].log[i].hash; h != 0 && h != r.Hash() {
			t.Errorf("another state before step %d", i)
		}
		for _, s := range seats {
			local, err := r.Local(s.log[i].share)
			if err != nil {
				t.Fatal(err)
			}
			n := s.log[i].share.Samples()
			weight += n
			for k := range sums {
				sums[k] += float32(n) * local[k]
			}
		}
		for k := range sums {
			r.Mean()[k] = sums[k] / float32(weight)
		}
		if err := r.Step(!m.skip[i], seats[0].log[i].rate); err != nil {
			t.Fatal(err)
		}
	}
	if r.Taken() != 28 || r.Hash() != want.Hash() {
		t.Errorf("after %d steps the replay stands elsewhere", r.Taken())
	}
}

// breaking is a member whose group ends after some steps.
type breaking struct {
	*seat
	steps int
	with  error
}

var errBroken = errors.New("the group cannot go on")

func (b *breaking) Begin(ctx context.Context) (Share, error) {
	if b.steps--; b.steps < 0 {
		return Share{}, b.with
	}
	share, err := b.seat.Begin(ctx)
	share.Leader = false
	return share, err
}

// TestLastMemberSaves checks that a member which does not lead saves what it knows when its group ends, as it may be the
// last, and when it leaves as the last. One that was never let in knows nothing.
func TestLastMemberSaves(t *testing.T) {
	for _, c := range []struct {
		steps int
		with  error
		saved int
	}{{5, errBroken, 1}, {0, errBroken, 0}, {5, ErrLeftLast, 1}, {5, ErrLeft, 0}} {
		cfg := exact(t)
		cfg.Dir = t.TempDir()
		cfg.Group = &breaking{newMeeting(100, 16).seat(false), c.steps, c.with}
		tr, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Run(context.Background()); !errors.Is(err, c.with) {
			t.Fatalf("%v", err)
		}
		at, _, err := Newest(cfg.Dir)
		if list, _ := checkpoints(cfg.Dir); err != nil || c.saved > 0 && at.Step != c.steps || len(list) != c.saved {
			t.Errorf("%v: saved %d times after step %d: %v", c.with, len(list), at.Step, err)
		}
	}
}
