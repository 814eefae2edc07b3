package group

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// TestChaos stops and continues workers at random, each by itself, for times up to twice as long as one may be silent:
// they are cut off and come back over and over. Then all train together again, and the replay tells that nothing was lost.
func TestChaos(t *testing.T) {
	seconds(t)
	for _, c := range []struct {
		ring, register bool
	}{{false, false}, {true, true}, {true, false}, {false, true}} {
		t.Run(fmt.Sprintf("ring=%t service=%t", c.ring, c.register), func(t *testing.T) {
			t.Parallel()
			if c.ring != c.register {
				all(t)
			}
			f := newFleet(t, 5, toySpec{
				Elements: 40_000, Samples: 1000, Batch: 20, Hash: 3, Rest: 5 * time.Millisecond, Register: c.register,
			})
			for i := range f.spec.Founders {
				f.spec.Founders[i].Host = "one"
				if c.ring {
					f.spec.Founders[i].Host = fmt.Sprint("host", i)
				}
			}
			var crew []*proc
			for i := range 5 {
				crew = append(crew, f.start(i, ""))
			}
			f.reachTogether(5, crew...)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			until := make([]time.Time, len(crew)) // when those that are stopped go on
			for end := time.Now().Add(campaign(3*time.Second, 30*time.Second)); time.Now().Before(end); {
				time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
				i := r.IntN(len(crew))
				if until[i].IsZero() {
					stop(t, crew[i])
					until[i] = time.Now().Add(time.Duration(r.Int64N(int64(2 * DefaultSuspect))))
				}
				for i, at := range until {
					if !at.IsZero() && time.Now().After(at) {
						crew[i].cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // the end tells
						until[i] = time.Time{}
					}
				}
			}
			for _, p := range crew {
				p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // as above
			}
			f.reachTogether(5, crew...)
			f.end(crew...)
		})
	}
}
