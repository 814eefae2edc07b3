package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"millrace.dev/fabric/sim"
)

// TestThousand lets a tenth of 1000 peers die at once. Peers are connected with their neighbours on
// the ring and in the tree only.
func TestThousand(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	for _, authority := range []Authority{Service, Majority} {
		t.Run(map[Authority]string{Service: "service", Majority: "majority"}[authority], func(t *testing.T) { thousand(t, n, authority) })
	}
}

func thousand(t *testing.T, n int, authority Authority) {
	j := newJob(1, n, sim.Link{Min: time.Millisecond, Max: 2 * time.Millisecond}, options{authority: authority, bare: true})
	for r, w := range j.workers {
		for _, o := range []int{(r + 1) % n, (r + n - 1) % n, (r - 1) / 2, 2*r + 1, 2*r + 2} {
			if o >= 0 && o < n && o != r {
				w.sendMessage(j.workers[o].self, &Beat{Epoch: 1})
			}
		}
	}
	j.world.Run(100 * time.Millisecond)

	// A tenth dies, and all others have prepared a step: it counts.
	dead := 0
	for _, k := range j.random.Perm(n)[:n/10] {
		j.kill(j.workers[k])
		dead++
	}
	for _, w := range j.running() {
		w.handle(Prepared{Epoch: 1, Step: 1, Facts: Facts{uint64(n), true}, Record: Record{Samples: 1, Finite: true}})
	}
	alive := j.running()
	began := j.world.Now()
	done := j.world.RunUntil(func() bool {
		for len(alive) > 0 {
			v := alive[len(alive)-1].m.View()
			if len(v.Members) != n-dead {
				return false
			}
			alive = alive[:len(alive)-1]
		}
		return true
	}, time.Minute)
	took := j.world.Now().Sub(began)
	epoch := j.newest().Epoch
	for _, w := range j.running() {
		if w.m.View().Epoch != epoch || w.m.Committed() != 1 {
			t.Fatalf("%s is in epoch %d at step %d", w.name(), w.m.View().Epoch, w.m.Committed())
		}
	}
	bound := 4 * n * (dead + 1)
	t.Logf("%d of %d dead: view %d of all others after %v and %d messages (bound %d)", dead, n, epoch, took.Round(time.Millisecond), j.messages, bound)
	if !done || j.check.err != nil || took > 5*time.Second || j.messages > bound {
		t.Errorf("done: %t, %v; want less than 5 s and %d messages", done, j.check.err, bound)
	}

	// The next step takes a token of 2(n-1) messages.
	before := j.messages
	running := j.running()
	for _, w := range running {
		w.handle(Prepared{Epoch: epoch, Step: 2, Facts: Facts{uint64(len(running)), true}, Record: Record{Samples: 1, Finite: true}})
	}
	j.world.Run(time.Second)
	for _, w := range running {
		if w.m.Committed() != 2 {
			t.Fatalf("%s is at step %d", w.name(), w.m.Committed())
		}
	}
	if sent := j.messages - before; sent != 2*(len(running)-1) {
		t.Errorf("a token took %d messages for %d members", sent, len(running))
	}
}

// TestSabotage makes jobs do something wrong, to show that the checker sees it.
func TestSabotage(t *testing.T) {
	for _, test := range []struct{ sabotage, what string }{
		{"stale", "chunks of the view before are taken for the new one's"},
		{"retry", "votes lose that a step was prepared"},
		{"forget", "the authority gives an epoch twice"},
	} {
		found := 0
		for seed := range uint64(300) {
			if _, err := schedule(seed, options{sabotage: test.sabotage, authority: Service}); err != nil {
				if found++; found == 1 {
					t.Logf("%s: %.200s", test.sabotage, fmt.Sprint(err))
				}
			}
			if found > 2 {
				break
			}
		}
		if found <= 2 {
			t.Errorf("%s: %s, and only %d of 300 schedules fail", test.sabotage, test.what, found)
		}
	}
}

// TestMessages counts the messages of recoveries in which more members die: of N, K in all take at
// most 4N(K+1).
func TestMessages(t *testing.T) {
	worst := 0.0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0x6d7367))
		n := 3 + r.IntN(14)
		k := 1 + r.IntN(min(4, (n-1)/2))
		j := newJob(seed, n, sim.Link{Min: 50 * time.Microsecond, Max: 300 * time.Microsecond}, options{authority: Authority(1 + seed%2), bare: true})
		for _, w := range j.workers {
			for _, o := range j.workers {
				if o != w {
					w.sendMessage(o.self, &Beat{Epoch: 1})
				}
			}
		}
		j.world.Run(20 * time.Millisecond)
		for i, victim := range r.Perm(n)[:k] {
			at := time.Duration(0)
			if i > 0 {
				at = time.Duration(r.Int64N(int64(10 * time.Millisecond)))
			}
			j.world.AfterFunc(at, func() { j.kill(j.workers[victim]) })
		}
		j.world.Run(10 * time.Millisecond)
		done := j.world.RunUntil(func() bool {
			for _, w := range j.running() {
				if len(w.m.View().Members) != n-k {
					return false
				}
			}
			return true
		}, 10*time.Second)
		bound := 4 * n * (k + 1)
		worst = max(worst, float64(j.messages)/float64(bound))
		if !done || j.check.err != nil || j.messages > bound {
			t.Errorf("seed %d: %d of %d die: done %t, %d messages, want %d at most, %v", seed, k, n, done, j.messages, bound, j.check.err)
		}
	}
	t.Logf("at worst %.0f %% of 4N(K+1)", 100*worst)
}
