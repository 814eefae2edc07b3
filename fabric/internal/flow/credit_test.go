package flow

import (
	"math/rand/v2"
	"testing"
)

// TestCreditNeverRunsDry sends frames of random sizes through windows down to
// the smallest: whatever is owed, the largest frame can be sent in the end.
func TestCreditNeverRunsDry(t *testing.T) {
	const largest = 1000
	random := rand.New(rand.NewPCG(1, 1))
	for _, window := range []int{largest, largest + 1, 3 * largest / 2, 2 * largest, 10 * largest} {
		var sender, receiver Credit
		receiver.Open(window, largest)
		sender.Allow(receiver.Window())
		for range 10_000 {
			size := 1 + random.IntN(largest)
			if random.IntN(3) == 0 {
				size = largest
			}
			if !sender.Take(size) {
				t.Fatalf("window %d: a frame of %d bytes never goes", window, size)
			}
			if err := receiver.Came(size); err != nil {
				t.Fatal(err)
			}
			give := int64(0)
			if hold := random.IntN(size + 1); random.IntN(2) == 0 {
				receiver.Hold(hold)
				give = receiver.Free(size)
				more, err := receiver.Release(hold)
				if err != nil {
					t.Fatal(err)
				}
				give += more
			} else {
				give = receiver.Free(size)
			}
			if err := sender.Grant(uint64(give)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCreditFindsCheats(t *testing.T) {
	var c Credit
	c.Open(100, 50)
	c.Allow(100)
	if c.Grant(1) == nil {
		t.Error("more credit is given back than was used")
	}
	if !c.Take(60) || c.Take(60) || c.Grant(61) == nil || c.Grant(1<<63) == nil || c.Grant(60) != nil {
		t.Error("used credit is miscounted")
	}
	if c.Came(100) != nil || c.Came(1) == nil {
		t.Error("credit that we gave is miscounted")
	}
	c.Hold(10)
	if _, err := c.Release(11); err == nil {
		t.Error("more is released than held")
	}
}
