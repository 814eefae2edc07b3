package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// walk lets machines take random steps in a world without mercy: messages are lost with nobody told,
// members suspect each other for no reason, time comes at any time. Nothing need get done there, but
// all that gets done must agree. It is harsher than any network, and finds what takes several rounds
// that each reach a few members only.
type walk struct {
	r        *rand.Rand
	machines map[ID]*Machine
	ids      []ID
	dead     map[ID]bool
	queues   map[[2]ID][]Message
	pairs    [][2]ID // with messages
	at       map[ID]time.Time
	now      time.Time
	asks     map[ID]*Ask
	last     *Change // of the service
	epoch    uint64
	views    map[uint64]View
	steps    map[uint64]*Result
	given    map[[2]uint64]map[ID]bool // by epoch and step: who has given its part
	log      strings.Builder
	logging  bool
	loss     [kindFence + 1]int // in a hundred, by kind; that of a chosen change is 0
	err      error
	stats    struct{ views, commits, adopted int }
}

func newWalk(seed uint64, authority Authority, logging bool) *walk {
	w := &walk{
		r: rand.New(rand.NewPCG(seed, 0x77616c6b)), machines: map[ID]*Machine{}, dead: map[ID]bool{}, queues: map[[2]ID][]Message{},
		at: map[ID]time.Time{}, now: epoch0, asks: map[ID]*Ask{}, epoch: 1, views: map[uint64]View{}, steps: map[uint64]*Result{},
		given: map[[2]uint64]map[ID]bool{}, logging: logging,
	}
	v := View{Epoch: 1}
	for i := range 3 + w.r.IntN(3) {
		v.Members = append(v.Members, Member{ID: ID(i + 1), Name: fmt.Sprint("w", i)})
	}
	for _, m := range v.Members {
		machine, err := New(Config{Self: m, Authority: authority}, v)
		if err != nil {
			panic(err)
		}
		w.machines[m.ID] = machine
		w.ids = append(w.ids, m.ID)
	}
	return w
}

func (w *walk) printf(format string, args ...any) {
	if w.logging {
		fmt.Fprintf(&w.log, format+"\n", args...)
	}
}

func (w *walk) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// run takes steps until something disagrees. Which steps are frequent and what gets lost is drawn for the
// walk, so that each is extreme in another way.
func (w *walk) run(steps int) {
	actions := []func(ID){w.deliver, w.train, w.tick, w.answer, w.suspect, w.meet, w.die}
	weights := []int{40 + w.r.IntN(40), w.r.IntN(20), 1 + w.r.IntN(20), 1 + w.r.IntN(5), w.r.IntN(8), w.r.IntN(4), w.r.IntN(40) / 39}
	sum := 0
	for _, n := range weights {
		sum += n
	}
	for k := range w.loss {
		w.loss[k] = max(0, w.r.IntN(140)-60)
	}
	for range steps {
		if w.err != nil {
			return
		}
		n := w.r.IntN(sum)
		for i, weight := range weights {
			if n -= weight; n < 0 {
				actions[i](w.ids[w.r.IntN(len(w.ids))])
				break
			}
		}
	}
}

func (w *walk) tick(id ID) {
	if at := w.at[id]; !at.IsZero() {
		if w.now.Before(at) {
			w.now = at
		}
		w.printf("%d: time has come", id)
		w.handle(id, Tick{})
	}
}

func (w *walk) suspect(id ID) {
	other := w.ids[w.r.IntN(len(w.ids))]
	w.printf("%d suspects %d", id, other)
	w.handle(id, Suspect{other})
}

// meet lets a member hear of all others.
func (w *walk) meet(id ID) {
	for _, other := range w.ids {
		if other != id && !w.dead[other] {
			w.handle(id, Received{other, &Beat{Epoch: w.machines[other].View().Epoch}})
		}
	}
}

func (w *walk) die(id ID) {
	w.printf("%d dies", id)
	w.dead[id] = true
}

func (w *walk) push(from, to ID, msg Message) {
	pair := [2]ID{from, to}
	if len(w.queues[pair]) == 0 {
		w.pairs = append(w.pairs, pair)
	}
	w.queues[pair] = append(w.queues[pair], msg)
}

func (w *walk) deliver(ID) {
	if len(w.pairs) == 0 {
		return
	}
	i := w.r.IntN(len(w.pairs))
	pair := w.pairs[i]
	msg := w.queues[pair][0]
	w.queues[pair] = w.queues[pair][1:]
	if len(w.queues[pair]) == 0 {
		w.pairs[i] = w.pairs[len(w.pairs)-1]
		w.pairs = w.pairs[:len(w.pairs)-1]
	}
	what := msg.kind()
	if a, is := msg.(*Accept); is && a.Chosen {
		what = 0
	}
	lost := w.r.IntN(100) < w.loss[what]
	if w.logging {
		w.printf("%d > %d: %s%s", pair[0], pair[1], names(nil).message(msg), map[bool]string{true: " LOST"}[lost])
	}
	if !lost {
		if r, is := msg.(*Reconcile); is && r.Proposal != nil {
			w.stats.adopted++
		}
		w.handle(pair[1], Received{pair[0], msg})
	}
}

// train gives a member's part to the reduction of its step, or has it prepared once all parts are there.
func (w *walk) train(id ID) {
	m := w.machines[id]
	if m.ring.frozen || m.ended {
		return
	}
	view, step := m.View(), m.Committed()+1
	key := [2]uint64{view.Epoch, step}
	if w.given[key] == nil {
		w.given[key] = map[ID]bool{}
	}
	w.given[key][id] = true
	if len(w.given[key]) == len(view.Members) && w.r.IntN(2) == 0 {
		w.handle(id, Prepared{Epoch: view.Epoch, Step: step, Facts: Facts{100*view.Epoch + step, true}, Record: Record{Samples: uint64(id), Finite: true}})
	}
}

// answer has the service answer, in the end or never.
func (w *walk) answer(id ID) {
	ask := w.asks[id]
	if ask == nil {
		return
	}
	if w.r.IntN(4) > 0 && ask.Epoch == w.epoch {
		w.last, w.epoch = ask.Change, w.epoch+1
	}
	answer := Answer{Epoch: ask.Epoch, Change: w.last}
	if w.last == nil || w.r.IntN(4) == 0 {
		answer = Answer{Epoch: ask.Epoch, Err: errors.New("lost")}
	}
	w.printf("%d is answered %s %v", id, names(nil).change(answer.Change), answer.Err)
	w.handle(id, answer)
}

func (w *walk) handle(id ID, e Event) {
	if w.dead[id] {
		return
	}
	for _, a := range w.machines[id].Handle(w.now, e) {
		switch a := a.(type) {
		case Send:
			w.push(id, a.To.ID, a.Message)
		case SetTimer:
			w.at[id] = a.At
		case Ask:
			w.asks[id] = &a
		case Install:
			w.printf("  %d installs %d: %s after %d", id, a.View.Epoch, names(nil).members(a.View.Members), a.Change.Committed)
			if known, there := w.views[a.View.Epoch]; !there {
				w.views[a.View.Epoch] = a.View
				w.stats.views++
			} else if !reflect.DeepEqual(known, a.View) {
				w.fail("view %d has two forms: %v and %v", a.View.Epoch, known, a.View)
			}
		case Commit:
			w.printf("  %d commits %d of view %d", id, a.Step, a.Epoch)
			if known := w.steps[a.Step]; known == nil {
				w.steps[a.Step] = a.Result
				w.stats.commits++
			} else if known.Epoch != a.Epoch || known.Facts != a.Facts {
				w.fail("step %d is of view %d, and of view %d for %d", a.Step, known.Epoch, a.Epoch, id)
			}
		case Failed:
			w.fail("%d: %v", id, a.Err)
		}
	}
}

func TestWalks(t *testing.T) {
	n := uint64(8000)
	if testing.Short() {
		n = 500
	}
	views, commits, adopted := 0, 0, 0
	for seed := range n {
		authority := Majority
		if seed%4 == 0 {
			authority = Service
		}
		w := newWalk(seed, authority, false)
		if w.run(600); w.err != nil {
			w = newWalk(seed, authority, true)
			w.run(600)
			t.Fatalf("walk %d: %v\n%s", seed, w.err, tail(w.log.String(), 200))
		}
		views, commits, adopted = views+w.stats.views, commits+w.stats.commits, adopted+w.stats.adopted
	}
	t.Logf("%d views, %d commits, %d messages with what was accepted before", views, commits, adopted)
	if views < int(n/2) || commits < int(n) || adopted < int(n) {
		t.Error("that is too little to find anything")
	}
}
