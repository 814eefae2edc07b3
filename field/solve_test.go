package field

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
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

// anyInstance draws an instance with a mix of everything that an instance can have.
func anyInstance(seed uint64) *Instance {
	rng := rand.New(rand.NewPCG(seed, 98))
	in := square(5+rng.IntN(80), 200, 20+40*rng.Float64(), 200+2000*rng.Float64(), seed)
	flip := func() bool { return rng.IntN(3) == 0 }
	for i := range in.Sensors {
		s := &in.Sensors[i]
		s.Weight, s.Alt = float64(rng.IntN(5)), 30*rng.Float64()
		if rng.IntN(10) == 0 {
			s.Energy = 0.5 * float64(rng.IntN(3))
		}
		if i > 0 && rng.IntN(15) == 0 {
			s.Pos = in.Sensors[i-1].Pos
		}
	}
	if flip() {
		in.Upload = Buffer
	}
	if flip() {
		in.Sinks = 2 + rng.IntN(2)
	}
	if flip() {
		in.Depot = &Point{-20 * rng.Float64(), 100}
	}
	if flip() {
		in.Sink.Rate = 0.5 + rng.Float64()
	}
	if flip() {
		in.Sink.Turn, in.Sink.Launch = 4*time.Second, 10*time.Second
	}
	if flip() {
		in.Sink.Climb = 2
	}
	if flip() {
		in.Obstacles = []Obstacle{
			{Name: "a", Ring: []Point{{40, 40}, {90, 60}, {80, 110}, {60, 70}}, NoFly: true, Shield: flip()},
			{Name: "b", Ring: []Point{{120, 20}, {170, 20}, {170, 90}, {120, 90}, {120, 20}}, NoFly: flip(), Shield: true}}
	}
	if flip() {
		in.Links = []Link{}
		for i := range in.Sensors {
			for j := range i {
				if in.Sensors[i].Pos.Dist(in.Sensors[j].Pos) < in.Range && !flip() {
					in.Links = append(in.Links, Link{i, j, 1 + 2*rng.Float64()})
				}
			}
		}
	}
	if flip() {
		in.Sink.Hold = time.Second
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

func TestPlansOfAnyInstancePassTheCheck(t *testing.T) {
	seeds := 70
	if testing.Short() {
		seeds = 16
	}
	solved, infeasible := 0, 0
	for seed := range uint64(seeds) {
		in := anyInstance(seed)
		opt := Options{Seed: seed, Effort: 40}
		p, err := Solve(context.Background(), in, opt)
		var no *InfeasibleError
		switch {
		case errors.As(err, &no):
			infeasible++
			if no.Deadline != in.Sink.Deadline || no.Problem == "" || len(no.Components) == 0 {
				t.Errorf("seed %d: %+v", seed, no)
			}
			if no.Nearest > 0 {
				in.Sink.Deadline = no.Nearest
				p = mustSolve(t, in, opt)
			}
		case err != nil:
			t.Fatalf("seed %d: %v", seed, err)
		default:
			solved++
		}
		if p != nil {
			for _, u := range p.Unserved {
				if s := in.Sensors[u.Sensor]; s.Weight > 0 && s.Energy > 0 {
					t.Errorf("seed %d: sensor %s is not served although nothing may be left out: %s", seed, s.ID, u.Reason)
				}
			}
		}
		in = anyInstance(seed)
		opt.Partial = true
		part := mustSolve(t, in, opt)
		if err == nil && len(part.Unserved) != len(p.Unserved) {
			t.Errorf("seed %d: %d sensors left out without need", seed, len(part.Unserved)-len(p.Unserved))
		}
	}
	if solved < seeds/4 || infeasible < seeds/20 {
		t.Errorf("%d solved and %d infeasible instances are too few of one kind", solved, infeasible)
	}
}

func TestSolveIsDeterministic(t *testing.T) {
	for seed := range uint64(10) {
		in, opt := anyInstance(seed), Options{Seed: seed, Effort: 60, Partial: true}
		if a, b := mustSolve(t, in, opt), mustSolve(t, in, opt); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: two plans of one instance differ", seed)
		}
	}
}

func TestNoTimeGivesTheStaticAnswer(t *testing.T) {
	for _, upload := range []Upload{Listen, Buffer} {
		in := square(100, 100, 40, 0, 4)
		in.Upload = upload
		p := mustSolve(t, in, Options{Effort: 200})
		if len(p.Stops) != 1 || len(p.Tours) != 1 || p.Tours[0].Length != 0 || p.Tours[0].Total != 0 {
			t.Errorf("%v: %d stops, tours %+v", upload, len(p.Stops), p.Tours)
		}
		if upload == Buffer && (p.MaxLoad != 100 || p.Certificate.Bound != 100) {
			t.Errorf("one rendezvous point sends %g, bound %g, of 100 packets", p.MaxLoad, p.Certificate.Bound)
		}
	}
}

func TestMuchTimeLeavesEachSensorItsOwnPackets(t *testing.T) {
	for _, upload := range []Upload{Listen, Buffer} {
		in := square(120, 200, 30, 1e5, 5)
		in.Upload = upload
		in.Sensors[3].Weight = 7
		p := mustSolve(t, in, Options{Effort: 400})
		if p.MaxLoad != 7 || p.Certificate.Bound != 7 || p.Certificate.Gap != 0 {
			t.Errorf("%v: largest load %g, bound %g, gap %g; want 7, 7, 0", upload, p.MaxLoad, p.Certificate.Bound, p.Certificate.Gap)
		}
	}
}

func TestMoreTimeNeverHurtsMuch(t *testing.T) {
	last := math.Inf(1)
	for _, limit := range []float64{0, 200, 400, 800, 1600} {
		p := mustSolve(t, square(200, 200, 30, limit, 6), Options{Effort: 300})
		if p.MaxLoad > last {
			t.Errorf("largest load rises from %g to %g with limit %g", last, p.MaxLoad, limit)
		}
		last = p.MaxLoad
	}
	if last > 3 {
		t.Errorf("largest load %g with a tour of 8 sides", last)
	}
}

func TestDistantDepotNamesTheNearestDeadline(t *testing.T) {
	in := square(50, 100, 30, 600, 7)
	in.Depot = &Point{1e6, 0}
	_, err := Solve(context.Background(), in, Options{})
	var no *InfeasibleError
	if !errors.As(err, &no) {
		t.Fatalf("error %v", err)
	}
	if s := no.Nearest.Seconds(); s < 1.9e6 || s > 2.0e6 {
		t.Errorf("nearest deadline %v for a depot 1000 km off", no.Nearest)
	}
	in.Sink.Deadline = no.Nearest
	mustSolve(t, in, Options{Effort: 20})
	in.Sink.Deadline = 600 * time.Second
	if p := mustSolve(t, in, Options{Partial: true}); len(p.Unserved) != 50 || p.Unserved[0].Reason != OutOfReach || p.Busiest != -1 {
		t.Errorf("%d unserved", len(p.Unserved))
	}
}

// A tour that only takes off, waits and lands takes the time of that, and a shorter deadline is refused with one that does.
func TestStopAtTheDepotTakesTime(t *testing.T) {
	in := square(20, 30, 60, 2, 8)
	in.Depot, in.Sink.Rate, in.Sink.Hold = &Point{15, 15}, 8, time.Second
	in.Sink.Turn, in.Sink.Launch = 3*time.Second, 12*time.Second
	_, err := Solve(context.Background(), in, Options{})
	var no *InfeasibleError
	if !errors.As(err, &no) || no.Nearest < 18*time.Second || no.Nearest > 19*time.Second {
		t.Fatalf("error %v", err)
	}
	in.Sink.Deadline = no.Nearest
	tour := mustSolve(t, in, Options{}).Tours[0]
	if len(tour.Stops) != 1 || tour.Dwell != 3*time.Second || tour.Total-tour.Travel != 18*time.Second {
		t.Errorf("%+v", tour)
	}
}

// Waits in whole seconds are part of the plan and its deadline, also where stops cost nothing else.
func TestWholeSecondsKeepTheDeadline(t *testing.T) {
	for _, turn := range []time.Duration{0, time.Second} {
		in := square(300, 300, 30, 240, 8)
		in.Sink.Speed, in.Sink.Rate, in.Sink.Hold, in.Sink.Turn = 3, 200, time.Second, turn
		p := mustSolve(t, in, Options{Effort: 200})
		tour, sum := p.Tours[0], time.Duration(0)
		for _, s := range p.Stops {
			sum += s.Dwell
			if s.Dwell%time.Second != 0 || s.Dwell.Seconds() < s.Packets/200 || s.Dwell.Seconds() >= s.Packets/200+1 {
				t.Errorf("waits %v for %g packets", s.Dwell, s.Packets)
			}
		}
		if len(p.Stops) < 2 || tour.Dwell != sum || tour.Travel+sum+turn*time.Duration(len(p.Stops)) > in.Sink.Deadline {
			t.Errorf("turn %v: %d stops, waiting %v, %+v", turn, len(p.Stops), sum, tour)
		}
	}
}

func TestUploadTimeCountsAgainstTheDeadline(t *testing.T) {
	in := square(60, 100, 30, 300, 8)
	in.Sink.Rate = 0.25 // 240 s of 300
	p := mustSolve(t, in, Options{Effort: 200})
	if tour := p.Tours[0]; tour.Dwell != 240*time.Second || tour.Travel > 60*time.Second {
		t.Errorf("dwell %v, travel %v", tour.Dwell, tour.Travel)
	}
	in.Sink.Rate = 0.1
	_, err := Solve(context.Background(), in, Options{})
	var no *InfeasibleError
	if !errors.As(err, &no) || !strings.Contains(no.Error(), "uploading 60 packets alone takes 10m0s") || no.Nearest != 600*time.Second {
		t.Errorf("error %v", err)
	}
}

func TestUnconnectedPartsAreAllVisited(t *testing.T) {
	in := square(40, 60, 25, 1000, 9)
	for i := range 20 {
		in.Sensors[i].Pos.X += 300
	}
	p := mustSolve(t, in, Options{Effort: 50})
	if p.Tours[0].Length < 2*(300-60-2*25) {
		t.Errorf("a tour of %g m cannot visit both parts", p.Tours[0].Length)
	}
	in.Sink.Deadline = 100 * time.Second
	_, err := Solve(context.Background(), in, Options{})
	var no *InfeasibleError
	if !errors.As(err, &no) || len(no.Components) < 2 || !strings.Contains(no.Problem, "unconnected parts") {
		t.Fatalf("error %v", err)
	}
	if part := mustSolve(t, in, Options{Effort: 50, Partial: true}); len(part.Unserved) == 0 || len(part.Unserved) > 25 {
		t.Errorf("%d unserved", len(part.Unserved))
	}
}

func TestSensorsWithoutEnergyOrPackets(t *testing.T) {
	in := square(60, 100, 30, 300, 10)
	in.Sensors[5].Energy = 0
	in.Sensors[6].Weight = 0
	in.Sensors = append(in.Sensors, Sensor{ID: "idle", Pos: Point{900, 900}, Energy: 1})
	p := mustSolve(t, in, Options{Effort: 50})
	if want := []Unserved{{5, NoEnergy}, {60, NothingSent}}; !reflect.DeepEqual(p.Unserved, want) {
		t.Errorf("unserved %v, want %v", p.Unserved, want)
	}
	for i := range in.Sensors {
		in.Sensors[i].Energy = 0
	}
	if p := mustSolve(t, in, Options{}); len(p.Unserved) != 61 || len(p.Tours) != 0 {
		t.Errorf("%d unserved, %d tours in a dead network", len(p.Unserved), len(p.Tours))
	}
}

func TestWeakBatteriesCarryLess(t *testing.T) {
	in := square(150, 150, 30, 300, 11)
	for i := range in.Sensors {
		if i%2 == 0 {
			in.Sensors[i].Energy = 0.1
		}
	}
	p := mustSolve(t, in, Options{Effort: 600})
	var weak, strong float64
	for i, load := range p.Load {
		if i%2 == 0 {
			weak = max(weak, load)
		} else {
			strong = max(strong, load)
		}
	}
	if weak*5 > p.MaxLoad || strong <= weak {
		t.Errorf("weak sensors send up to %g, strong ones %g, scaled maximum %g", weak, strong, p.MaxLoad)
	}
}

func TestToursAvoidNoFlyZones(t *testing.T) {
	in := square(80, 200, 40, 900, 12)
	in.Depot = &Point{0, 100}
	in.Obstacles = []Obstacle{{Name: "wall", Ring: []Point{{95, -50}, {105, -50}, {105, 250}, {95, 250}}, NoFly: true}}
	p := mustSolve(t, in, Options{Effort: 200}) // Check refuses crossings
	far := false
	for _, s := range p.Stops {
		far = far || s.Pos.X > 105
	}
	if far && p.Tours[0].Length < 2*math.Hypot(95, 150)+10 {
		t.Errorf("a tour of %g m stops behind the wall", p.Tours[0].Length)
	}
	in.Obstacles = append(in.Obstacles, Obstacle{Name: "lid", Ring: []Point{{-500, -500}, {700, -500}, {700, 700}, {-500, 700}}, NoFly: true})
	if _, err := Solve(context.Background(), in, Options{}); err == nil || !strings.Contains(err.Error(), "no-fly") {
		t.Errorf("a depot in a no-fly zone: %v", err)
	}
	in.Depot = nil
	var no *InfeasibleError
	if _, err := Solve(context.Background(), in, Options{}); !errors.As(err, &no) || no.Nearest != 0 {
		t.Errorf("a field without a place to stop: %v", err)
	}
	if p := mustSolve(t, in, Options{Partial: true}); len(p.Unserved) != 80 || p.Unserved[0].Reason != InNoFly {
		t.Errorf("%d unserved, %v", len(p.Unserved), p.Unserved[0])
	}
}

func TestSeveralSinksShareTheWork(t *testing.T) {
	in := square(200, 300, 35, 500, 13)
	one := mustSolve(t, in, Options{Effort: 200})
	in.Sinks = 3
	three := mustSolve(t, in, Options{Effort: 200})
	if len(three.Tours) != 3 || three.MaxLoad >= one.MaxLoad {
		t.Errorf("%d tours, largest load %g with three sinks and %g with one", len(three.Tours), three.MaxLoad, one.MaxLoad)
	}
}

func TestSolveStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stages := 0
	opt := Options{Progress: func(stage string, done, total int) {
		if stages++; stage == "improve" {
			cancel()
		}
		if done < 0 || done > total {
			t.Errorf("stage %s: %d of %d", stage, done, total)
		}
	}}
	if _, err := Solve(ctx, square(400, 300, 30, 1200, 14), opt); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if stages < 4 {
		t.Errorf("%d progress reports", stages)
	}
}

func TestBadInstancesAreNamed(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		want string
		harm func(in *Instance)
	}{
		{"sensors: there are none", func(in *Instance) { in.Sensors = nil }},
		{`sensor "s2" (number 3): position`, func(in *Instance) { in.Sensors[2].Pos.X = nan }},
		{`sensor "s2" (number 3): position`, func(in *Instance) { in.Sensors[2].Pos.Y = 1e9 }},
		{`sensor "s1" (number 2): weight`, func(in *Instance) { in.Sensors[1].Weight = -1 }},
		{`sensor "s1" (number 2): energy`, func(in *Instance) { in.Sensors[1].Energy = math.Inf(1) }},
		{`sensor "s0" (number 1): altitude`, func(in *Instance) { in.Sensors[0].Alt = nan }},
		{"range: 0", func(in *Instance) { in.Range = 0 }},
		{"range: NaN", func(in *Instance) { in.Range = nan }},
		{"upload range", func(in *Instance) { in.UploadRange = -1 }},
		{"upload range: needed", func(in *Instance) { in.Range, in.Links = 0, []Link{} }},
		{"link 1 joins sensors 0 and 99", func(in *Instance) { in.Links = []Link{{0, 99, 1}} }},
		{`link 1 joins sensor "s4" with itself`, func(in *Instance) { in.Links = []Link{{4, 4, 1}} }},
		{"ETX 0.5", func(in *Instance) { in.Links = []Link{{0, 1, 0.5}} }},
		{"obstacle lake: has fewer than 3", func(in *Instance) { in.Obstacles = []Obstacle{{Name: "lake", Ring: []Point{{0, 0}, {1, 1}, {0, 0}}}} }},
		{"obstacle number 1: corner", func(in *Instance) { in.Obstacles = []Obstacle{{Ring: []Point{{0, 0}, {1, 1}, {0, nan}}}} }},
		{"speed", func(in *Instance) { in.Sink.Speed = 0 }},
		{"deadline", func(in *Instance) { in.Sink.Deadline = -1 }},
		{"rate", func(in *Instance) { in.Sink.Rate = nan }},
		{"climb", func(in *Instance) { in.Sink.Climb = -2 }},
		{"turn", func(in *Instance) { in.Sink.Turn = -2 }},
		{"sinks", func(in *Instance) { in.Sinks = -1 }},
		{"depot", func(in *Instance) { in.Depot = &Point{nan, 0} }},
		{"upload: unknown model 7", func(in *Instance) { in.Upload = 7 }},
	} {
		in := square(10, 100, 30, 100, 1)
		c.harm(in)
		_, err := Solve(context.Background(), in, Options{})
		var bad *InputError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

func TestTooManyLinksAreRefused(t *testing.T) {
	in := square(1, 1, 1, 1, 1)
	for len(in.Sensors) < 20_000 { // all in one place: 4e8 links
		in.Sensors = append(in.Sensors, in.Sensors[0])
	}
	var bad *InputError
	if _, err := NewGraph(in); !errors.As(err, &bad) || bad.Field != "range" {
		t.Errorf("error %v", err)
	}
}

// A sink that cannot drive waits at the best place; in a network of two parts it needs to drive, and the error names both.
func TestNoTimeToDrive(t *testing.T) {
	in := square(120, 150, 30, 0, 14)
	p := mustSolve(t, in, Options{})
	if len(p.Stops) != 1 || p.Tours[0].Length != 0 || len(p.Unserved) > 0 {
		t.Errorf("%d stops, %g m, %d not served", len(p.Stops), p.Tours[0].Length, len(p.Unserved))
	}
	in.Sensors = append(in.Sensors, Sensor{ID: "island", Pos: Point{900, 0}, Weight: 1, Energy: 1})
	var no *InfeasibleError
	if _, err := Solve(context.Background(), in, Options{}); !errors.As(err, &no) || len(no.Components) != 2 ||
		!strings.Contains(no.Problem, `2 unconnected parts that each need a stop (120 with "s0", 1 with "island")`) {
		t.Errorf("%v", err)
	}
}

func TestReplanKeepsRouteAndQuality(t *testing.T) {
	for _, upload := range []Upload{Listen, Buffer} {
		in := square(300, 250, 30, 900, 15)
		in.Upload = upload
		p := mustSolve(t, in, Options{Effort: 300})
		changed := *in
		changed.Sensors = append([]Sensor(nil), in.Sensors...)
		changed.Sensors[10].Energy = 0
		changed.Sensors[20].Pos.X += 40
		changed.Sensors = append(changed.Sensors, Sensor{ID: "new", Pos: Point{120, 120}, Weight: 2, Energy: 0.5})
		q, err := Replan(context.Background(), &changed, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(&changed, q); err != nil {
			t.Fatal(err)
		}
		if q.MaxLoad > p.MaxLoad*1.3+2 {
			t.Errorf("%v: largest load rises from %g to %g", upload, p.MaxLoad, q.MaxLoad)
		}
	}
}

// Whatever changes, the adapted plan is a plan of the changed instance: it passes the check, serves everybody whom a whole plan
// serves, and its bound is true.
func TestReplanOfAnyInstance(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 65))
		in, opt := anyInstance(seed), Options{Seed: seed, Effort: 20, Partial: true}
		p := mustSolve(t, in, opt)
		for range 1 + rng.IntN(4) {
			alter(in, rng)
		}
		q, err := Replan(context.Background(), in, p, opt)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := Check(in, q); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		whole := mustSolve(t, in, opt)
		if q.Certificate.Bound > whole.MaxLoad*(1+1e-9) && len(whole.Unserved) <= len(q.Unserved) {
			t.Errorf("seed %d: bound %g, but a whole plan has a largest load of %g", seed, q.Certificate.Bound, whole.MaxLoad)
		}
		if got, want := packetsServed(in, q), packetsServed(in, whole); got < want*(1-1e-9) {
			t.Errorf("seed %d: %g packets served, %g by a whole plan", seed, got, want)
		}
	}
}

// alter changes one thing about an instance.
func alter(in *Instance, rng *rand.Rand) {
	i := rng.IntN(len(in.Sensors))
	switch rng.IntN(6) {
	case 0:
		in.Sensors[i].Pos = Point{250 * rng.Float64(), 250 * rng.Float64()}
	case 1:
		in.Sensors[i].Energy = 0
	case 2:
		in.Sensors[i].Weight += 3
	case 3:
		in.Sensors = append(in.Sensors, Sensor{ID: fmt.Sprint("new", len(in.Sensors)), Pos: Point{200 * rng.Float64(), 200 * rng.Float64()}, Weight: 2, Energy: 0.5})
	case 4:
		in.Sink.Deadline = in.Sink.Deadline * 9 / 10
	default:
		in.Sensors[i].Pos.X += 10
	}
}

func packetsServed(in *Instance, p *Plan) (sum float64) {
	for i, parent := range p.Parent {
		if parent != NoRoute {
			sum += in.Sensors[i].Weight
		}
	}
	return sum
}

// Where nothing has changed nothing gets worse, and where sensors were renumbered the plan is still one.
func TestReplanOfTheSame(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		in, opt := anyInstance(seed), Options{Seed: seed, Effort: 20, Partial: true}
		p := mustSolve(t, in, opt)
		q, err := Replan(context.Background(), in, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if q.MaxLoad > p.MaxLoad*(1+1e-9) {
			t.Errorf("seed %d: largest load %g, %g before", seed, q.MaxLoad, p.MaxLoad)
		}
		slices.Reverse(in.Sensors)
		for i, l := range in.Links {
			in.Links[i].A, in.Links[i].B = len(in.Sensors)-1-l.A, len(in.Sensors)-1-l.B
		}
		if q, err = Replan(context.Background(), in, p, opt); err != nil {
			t.Fatal(err)
		}
		if err := Check(in, q); err != nil {
			t.Errorf("seed %d, renumbered: %v", seed, err)
		}
	}
}

// After a small change the adapted plan's largest load is at most a tenth above that of a whole new plan in the median.
func TestReplanIsNearlyAsGood(t *testing.T) {
	seeds, effort := uint64(24), 200
	if testing.Short() {
		seeds, effort = 4, 40
	}
	var ratios []float64
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 66))
		in := square(400, 300, 30, 1200, seed)
		switch seed % 4 {
		case 1:
			in.Upload = Buffer
		case 2:
			in.Sink.Turn, in.Sink.Rate = 3*time.Second, 5
		case 3:
			in.Sinks, in.Sink.Deadline = 2, in.Sink.Deadline/2
		}
		p := mustSolve(t, in, Options{Seed: seed, Effort: effort})
		i := rng.IntN(400)
		in.Sensors[i].Pos = Point{300 * rng.Float64(), 300 * rng.Float64()}
		q, err := Replan(context.Background(), in, p, Options{Seed: seed, Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		whole := mustSolve(t, in, Options{Seed: seed, Effort: effort, Partial: true})
		if len(q.Unserved) > len(whole.Unserved) {
			t.Errorf("seed %d: %d sensors are not served, %d by a whole plan", seed, len(q.Unserved), len(whole.Unserved))
		}
		ratios = append(ratios, q.MaxLoad/whole.MaxLoad)
	}
	slices.Sort(ratios)
	if median, worst := ratios[len(ratios)/2], ratios[len(ratios)-1]; median > 1.1 || worst > 1.5 {
		t.Errorf("largest loads are %.2f times those of whole plans in the median, %.2f at worst", median, worst)
	}
}
