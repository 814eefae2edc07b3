package harness

import "testing"

func TestLastCPUs(t *testing.T) {
	for n, want := range map[int]string{1: "5", 2: "3,5", 9: "0,3,5"} {
		if got := LastCPUs([]int{0, 3, 5}, n); got != want {
			t.Errorf("last %d CPUs are %q, want %q", n, got, want)
		}
	}
	if cpus, err := AllowedCPUs(); err != nil || len(cpus) == 0 {
		t.Errorf("allowed CPUs: %v, %v", cpus, err)
	}
}

func TestLeastTime(t *testing.T) {
	l := &Limits{
		Flops: map[int]float64{1: 100},
		Read:  map[int]Bandwidth{1: {L2: 10, L3: 5, Memory: 1}},
		Copy:  map[int]Bandwidth{1: {L2: 20, L3: 1, Memory: 2}},
	}
	if got := l.Seconds(1, 1000, 20, 1); got != 10 {
		t.Errorf("1000 flops take %g s, want 10", got)
	}
	if got := l.Seconds(1, 1, 40, 1); got != 2 {
		t.Errorf("40 bytes in the second cache take %g s, want 2", got)
	}
	if got := l.Seconds(1, 1, 40, 1<<62); got != 20 {
		t.Errorf("40 bytes in memory take %g s, want 20", got)
	}
}
