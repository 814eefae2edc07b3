package crew

import (
	"testing"
	"time"
)

func TestTarget(t *testing.T) {
	start := time.Unix(1e9, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	x := target{workers: 4}
	if n := x.missing(at(0), 3); n != 0 {
		t.Fatalf("%d are missing though none was lost", n)
	}
	staying, losses := 4, []float64{10, 20, 40, 80, 100, 100}
	now := 0.0
	for i, cooldown := range losses {
		staying--
		if wait := x.lose(at(now)); wait.Seconds() != cooldown {
			t.Errorf("loss %d is replaced after %v, want %v s", i+1, wait, cooldown)
		}
		if n := x.missing(at(now+cooldown-0.1), staying); n != 0 {
			t.Errorf("%d are started too soon", n)
		}
		now += cooldown
		if n := x.missing(at(now), staying); n != 1 {
			t.Errorf("%d are missing, want 1", n)
		}
		staying++
	}
	// A second loss while a replacement is due does not put it off; both are replaced together.
	now += 1000
	x.lose(at(now))
	if wait := x.lose(at(now + 4)); wait != 6*time.Second {
		t.Errorf("after a quiet time and a second loss it is %v", wait)
	}
	if n := x.missing(at(now+10), 2); n != 2 {
		t.Errorf("%d are missing, want 2", n)
	}
	// What was asked for is due at once, and what has left for good is not replaced.
	x.resize(6, at(now+11))
	if n := x.missing(at(now+11), 4); n != 2 {
		t.Errorf("%d are missing, want 2", n)
	}
	x.fewer(3)
	x.lose(at(now + 12))
	if n := x.missing(at(now+40), 2); n != 1 {
		t.Errorf("%d are missing, want 1", n)
	}
	x.fewer(9)
	if x.workers != 0 {
		t.Errorf("%d workers", x.workers)
	}
}
