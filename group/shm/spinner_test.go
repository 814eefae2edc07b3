package shm

import (
	"testing"
	"time"
)

func TestSpinnerLooksForLongWhereThatIsOfUse(t *testing.T) {
	var s spinner
	never := func() bool { return false }
	long := 0
	for range 4 * retry {
		if s.look() == longLook {
			long++
		}
		start := time.Now()
		look := s.look()
		if s.spin(never) {
			t.Fatal("what is not possible was found")
		}
		if took := time.Since(start); took < look {
			t.Fatalf("it looked for %v instead of %v", took, look)
		}
	}
	if long != 4 {
		t.Errorf("%d long looks of %d in vain", long, 4*retry)
	}
	if !s.spin(func() bool { return true }) || s.look() != longLook {
		t.Error("the look after one that was of use is short")
	}
	if s.spin(never) || s.look() != shortLook {
		t.Error("the look after one in vain is long")
	}
}
