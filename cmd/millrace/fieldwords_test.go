package main

import "testing"

func TestFiguresArePlain(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 4: "4", 3.14159: "3.142", 0.000012345: "0.00001234", 999.96: "1000", 20_000: "20,000", 1234567.8: "1,234,568"} {
		if got := figure(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
