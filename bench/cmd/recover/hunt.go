package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/group"
)

// hunt kills workers of a group one after another, and starts a new one in the place of each.
type hunt struct {
	workers, kills, elements int
	authority, aim           string
	apart                    bool // each worker is told that it has a machine of its own
	seed                     uint64
	tell                     func(any)

	dir     string
	service *cluster.Cluster
	random  *rand.Rand
	spec    spec
	alive   []*proc
	all     []*proc
	born    int
	quiet   []line // undisturbed steps
}

// What a hunt aims at.
const (
	aimRandom = "random"
	aimReduce = "reduce"
	aimToken  = "token"
	aimView   = "view"   // one dies, and one of those that agree on the next view
	aimJoin   = "join"   // while the one before is replaced
	aimFreeze = "freeze" // it is stopped, not killed
)

func (h *hunt) run() (err error) {
	least := 2
	if h.aim == aimView || h.aim == aimJoin { // two die
		least = 3
	}
	if h.workers < least || h.workers > 64 || h.kills < 1 || h.elements < 1 {
		return fmt.Errorf("%d kills among %d workers with %d elements", h.kills, h.workers, h.elements)
	}
	if !slices.Contains([]string{aimRandom, aimReduce, aimToken, aimView, aimJoin, aimFreeze}, h.aim) {
		return fmt.Errorf("unknown aim %q", h.aim)
	}
	if h.dir, err = os.MkdirTemp("", "recover-"); err != nil {
		return err
	}
	defer os.RemoveAll(h.dir) //nolint:errcheck // a folder of temporary files
	defer func() {
		for _, p := range h.all {
			p.reap()
		}
		if h.service != nil {
			h.service.Close()
		}
	}()
	h.random = rand.New(rand.NewPCG(h.seed, 0))
	if err := h.begin(); err != nil {
		return err
	}
	for range h.kills {
		k, err := h.strike()
		if err != nil {
			return err
		}
		h.tell(k)
	}
	return h.end()
}

// begin starts the founders and lets them warm up.
func (h *hunt) begin() error {
	h.spec = spec{Dir: h.dir, Elements: h.elements, Data: group.Data{Samples: 10_000, Batch: 16 * uint64(h.workers)}}
	switch h.authority {
	case "service":
		c, err := cluster.Open(context.Background(), cluster.Config{Dir: filepath.Join(h.dir, "membership"), Listen: "127.0.0.1:0"})
		if err != nil {
			return err
		}
		h.service, h.spec.Service = c, c.URL()
	case "majority":
	default:
		return fmt.Errorf("unknown authority %q", h.authority)
	}
	for range h.workers {
		h.spec.Founders = append(h.spec.Founders, h.member())
	}
	for _, m := range h.spec.Founders {
		s := h.spec
		s.Self = m
		if err := h.start(s); err != nil {
			return err
		}
	}
	return h.settle(5)
}

// member is a new one.
func (h *hunt) member() group.Member {
	name := fmt.Sprint("w", h.born)
	h.born++
	m := group.Member{ID: group.NewID(), Name: name, Addr: "unix:" + filepath.Join(h.dir, name), Host: group.ThisHost()}
	if h.apart {
		m.Host += " of " + name
	}
	return m
}

func (h *hunt) start(s spec) error {
	p, err := startProc(s)
	if err != nil {
		return err
	}
	h.alive, h.all = append(h.alive, p), append(h.all, p)
	return nil
}

// replace starts a worker that joins.
func (h *hunt) replace() error {
	s := h.spec
	s.Founders, s.Self = nil, h.member()
	for _, p := range h.alive {
		s.Join = append(s.Join, "unix:"+filepath.Join(h.dir, p.name))
	}
	return h.start(s)
}

// settle waits until all have taken steps together, each with samples of its own.
func (h *hunt) settle(steps int) error {
	for len(h.alive) < h.workers {
		if err := h.replace(); err != nil {
			return err
		}
	}
	for _, p := range h.alive {
		n := 0
		if _, err := p.await(patience, "a step of all", func(l line) bool {
			if l.Event == "" && l.Members == h.workers && l.Weight > 0 {
				n++
			}
			return n >= steps
		}); err != nil {
			return err
		}
	}
	return nil
}

// strike kills a worker, waits until the others go on, and sees that it is replaced.
func (h *hunt) strike() (kill, error) {
	h.sleep(400 * time.Millisecond)
	h.remember(h.alive[0])
	k, err := h.struck()
	if err != nil {
		return kill{}, err
	}
	return k, h.settle(2)
}

func (h *hunt) sleep(most time.Duration) { time.Sleep(time.Duration(h.random.Int64N(int64(most)))) }

// remember keeps the newest undisturbed steps.
func (h *hunt) remember(p *proc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var steps []line
	for _, l := range slices.Backward(p.lines) {
		if l.Event == eventView || len(steps) == 8 {
			break
		}
		if l.Event == "" {
			steps = append(steps, l)
		}
	}
	h.quiet = append(h.quiet, steps...)
}

// struck kills a worker, or two of them, and measures.
func (h *hunt) struck() (kill, error) {
	var at int64
	var doing string
	var err error
	epoch := h.epoch()
	switch h.aim {
	case aimRandom:
		at, doing, err = h.take().kill()
	case aimFreeze:
		at, doing, err = h.take().stop()
	case aimReduce:
		at, doing, err = h.trapped(h.take(), reduces, 1+h.random.Int64N(30))
	case aimToken:
		at, doing, err = h.trapped(h.take(), sendsToken, 1)
	case aimView:
		second := h.take()
		// A vote, or the change: some send only one of them.
		if err := h.arm(second, sendsView, 1+h.random.Int64N(2)); err != nil {
			return kill{}, err
		}
		if _, _, err := h.take().kill(); err != nil {
			return kill{}, err
		}
		if at, doing, err = h.death(second, time.Second); err != nil {
			at, doing, err = second.kill()
		}
	case aimJoin:
		if _, _, err := h.take().kill(); err != nil {
			return kill{}, err
		}
		if err := h.replace(); err != nil {
			return kill{}, err
		}
		newcomer := h.alive[len(h.alive)-1]
		if _, err := newcomer.await(patience, "a view with the newcomer", func(l line) bool { return l.Event == eventView }); err != nil {
			return kill{}, err
		}
		h.sleep(100 * time.Millisecond)
		epoch = h.epoch()
		at, doing, err = h.take().kill() // perhaps the newcomer
	}
	if err != nil {
		return kill{}, err
	}
	k := kill{Type: "kill", Aim: h.aim, Phase: doing}
	return k, h.measure(&k, at, epoch)
}

// epoch is the newest view that anybody knows.
func (h *hunt) epoch() uint64 {
	newest := uint64(0)
	for _, p := range h.alive {
		p.mu.Lock()
		for _, l := range p.lines {
			if l.Event == eventView {
				newest = max(newest, l.Epoch)
			}
		}
		p.mu.Unlock()
	}
	return newest
}

// take takes any worker out of those that are to live.
func (h *hunt) take() *proc {
	i := h.random.IntN(len(h.alive))
	p := h.alive[i]
	h.alive = slices.Delete(h.alive, i, i+1)
	return p
}

// trapped lets a worker kill itself at a point.
func (h *hunt) trapped(p *proc, point string, times int64) (int64, string, error) {
	if err := h.arm(p, point, times); err != nil {
		return 0, "", err
	}
	return h.death(p, patience)
}

// arm tells a worker where to kill itself, and waits until it knows.
func (h *hunt) arm(p *proc, point string, times int64) error {
	_, err := p.ask(order{Point: point, Times: times}, eventArmed)
	return err
}

// death waits until a worker has killed itself.
func (h *hunt) death(p *proc, patience time.Duration) (int64, string, error) {
	l, err := p.await(patience, "its death", func(l line) bool { return l.Event == eventDying })
	return l.At, p.phase.String(), err
}

// measure waits until all survivors have committed a step in a later view.
func (h *hunt) measure(k *kill, at int64, epoch uint64) error {
	k.First = patience.Seconds() * 1e3
	ms := func(l line) float64 { return float64(l.At-at) / 1e6 }
	for _, p := range h.alive {
		// The view in which the survivors commit again, without any of the dead.
		commit, err := p.await(patience, "a commit in a new view", func(l line) bool { return l.Event == "" && l.Epoch > epoch && l.At > at })
		if err != nil {
			return err
		}
		k.First, k.All = min(k.First, ms(commit)), max(k.All, ms(commit))
		for _, e := range []struct {
			event string
			in    *float64
		}{{eventLost, &k.Lost}, {eventAsk, &k.Asked}, {eventRuled, &k.Ruled}, {eventView, &k.View}, {eventPlane, &k.Plane}} {
			if l, ok := p.find(func(l line) bool { return l.Event == e.event && l.At > at && l.At <= commit.At }); ok {
				*e.in = max(*e.in, ms(l))
			}
		}
	}
	return nil
}

// end lets all take their last step together, and checks the whole run. One waits until all others know which that
// is: none can take more than the next without it.
func (h *hunt) end() error {
	first := h.alive[0]
	held, err := first.ask(order{Hold: true}, eventHeld)
	if err != nil {
		return err
	}
	last := held.Step + 20
	for _, p := range append(slices.Clone(h.alive[1:]), first) {
		if _, err := p.ask(order{Last: last}, eventTold); err != nil {
			return err
		}
	}
	var hashes []uint64
	for _, p := range h.alive {
		l, err := p.await(patience, "the end", func(l line) bool { return l.Event == eventEnd })
		if err != nil {
			return err
		}
		if l.Err != "" || l.Step != last {
			return fmt.Errorf("%s ends with step %d, not %d: %s", p.name, l.Step, last, l.Err)
		}
		hashes = append(hashes, l.Hash)
	}
	for _, p := range h.all {
		p.reap()
	}
	t, err := h.verify(last, hashes)
	if err != nil {
		return errors.Join(errors.New("the replay differs"), err)
	}
	t.Quiet, t.Compute, t.Reduce = h.usual()
	t.Step = median(slices.Clone(t.Quiet))
	t.Entering, t.Following = h.joins()
	h.tell(t)
	return nil
}

// usual is what undisturbed steps take, in milliseconds.
func (h *hunt) usual() (steps []float64, compute, reduce float64) {
	var computes, reduces []float64
	for i, l := range h.quiet {
		computes, reduces = append(computes, l.Compute), append(reduces, l.Reduce)
		if i > 0 && h.quiet[i-1].Step == l.Step+1 { // the newest come first
			steps = append(steps, float64(h.quiet[i-1].At-l.At)/1e6)
		}
	}
	return steps, median(computes), median(reduces)
}

// joins is what steps of members took in which newcomers were let in, and those after that until the newcomers took a
// share, in milliseconds.
func (h *hunt) joins() (entering, following []float64) {
	for _, newcomer := range h.all[h.workers:] {
		share, ok := newcomer.find(func(l line) bool { return l.Event == "" && l.Weight > 0 })
		if !ok {
			continue
		}
		for _, p := range h.all {
			view, ok := p.find(func(l line) bool {
				return l.Event == eventView && slices.Contains(strings.Split(l.Err, ", "), newcomer.name+" has joined")
			})
			if !ok {
				continue
			}
			first := true
			for _, l := range p.steps() {
				switch {
				case l.Epoch != view.Epoch || l.Step >= share.Step:
				case first:
					entering, first = append(entering, l.took), false
				default:
					following = append(following, l.took)
				}
			}
		}
	}
	return entering, following
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
