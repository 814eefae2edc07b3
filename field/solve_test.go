package field

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// square is an instance with n sensors spread at random over a square.
func square(n int, side, reach float64, limit float64, seed uint64) *Instance {
	rng := rand.New(rand.NewPCG(seed, 99))
	in := &Instance{Range: reach, Sink: Sink{Speed: 1, Deadline: time.Duration(limit * 1e9)}, Energy: FirstOrder()}
	for i, p := range randomPoints(rng, n, side) {
		in.Sensors = append(in.Sensors, Sensor{ID: fmt.Sprint("s", i), Pos: p, Weight: 1, Energy: 0.5})
	}
	return in
}

func mustSolve(t *testing.T, in *Instance, opt Options) *Plan {
	t.Helper()
	p, err := Solve(context.Background(), in, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(in, p); err != nil {
		t.Fatal(err)
	}
	return p
}
