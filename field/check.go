package field

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// PlanError says what is wrong with a plan.
type PlanError struct{ Problem string }

func (e *PlanError) Error() string { return "the plan is wrong: " + e.Problem }

func wrong(format string, args ...any) error { return &PlanError{fmt.Sprintf(format, args...)} }

const (
	placeSlack = 1e-3                 // metres that a stop may lie beside its tour's path, or out of reach
	timeSlack  = 2 * time.Microsecond // rounding of a duration; never granted to the deadline itself
)

// Check verifies a plan against the instance, from first principles: links, ways without loops, uploads, loads,
// stops, tours, times and the list of unserved sensors. It shares nothing with the planner but the geometry of segments and
// polygons. The error is a [*PlanError].
func Check(in *Instance, p *Plan) error {
	n := len(in.Sensors)
	if len(p.Parent) != n || len(p.Stop) != n || len(p.Load) != n {
		return wrong("it has routes for %d, stops for %d and loads for %d of %d sensors", len(p.Parent), len(p.Stop), len(p.Load), n)
	}
	c := checker{in: in, p: p, shields: polygonsOf(in.Obstacles, func(o Obstacle) bool { return o.Shield }),
		zones: polygonsOf(in.Obstacles, func(o Obstacle) bool { return o.NoFly })}
	if in.Links != nil {
		c.etx = etxOf(in)
	}
	for _, step := range []func() error{c.routes, c.loops, c.unserved, c.uploads, c.loads, c.tours, c.certificate} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type checker struct {
	in      *Instance
	p       *Plan
	shields []polygon
	zones   []polygon
	etx     func(i, j int) float64 // nil when links follow from the range
}

func (c *checker) id(i int) string { return c.in.Sensors[i].ID }

// linkETX is the ETX of link ij, 0 when there is none.
func (c *checker) linkETX(i, j int) float64 {
	if c.etx != nil {
		return c.etx(i, j)
	}
	a, b := c.in.Sensors[i].Pos, c.in.Sensors[j].Pos
	if a.Dist(b) > c.in.Range*(1+1e-12) || anyCrossed(c.shields, a, b) {
		return 0
	}
	return 1
}

func (c *checker) routes() error {
	for i, parent := range c.p.Parent {
		j := int(parent)
		switch {
		case j == ToSink:
			if s := c.p.Stop[i]; s < 0 || int(s) >= len(c.p.Stops) {
				return wrong("sensor %q uploads at stop %d of %d", c.id(i), s, len(c.p.Stops))
			}
		case c.p.Stop[i] != -1:
			return wrong("sensor %q has a stop but does not upload", c.id(i))
		case j == NoRoute:
			continue
		case j < 0 || j >= len(c.p.Parent):
			return wrong("sensor %q sends to number %d", c.id(i), j)
		case c.in.Sensors[j].Energy == 0:
			return wrong("sensor %q sends to %q, which has no energy", c.id(i), c.id(j))
		case c.linkETX(i, j) == 0:
			return wrong("sensor %q sends to %q, but there is no link", c.id(i), c.id(j))
		}
		if c.in.Sensors[i].Energy == 0 {
			return wrong("sensor %q sends, but has no energy", c.id(i))
		}
	}
	return nil
}

// loops follows each way to its end, marking what is known to end well.
func (c *checker) loops() error {
	const fresh, onWay, good = 0, 1, 2
	state := make([]byte, len(c.p.Parent))
	var way []int32
	for i := range c.p.Parent {
		way = way[:0]
		j := int32(i)
		for j >= 0 && state[j] == fresh {
			state[j] = onWay
			way = append(way, j)
			j = c.p.Parent[j]
		}
		if j >= 0 && state[j] == onWay {
			return wrong("the way of sensor %q is a loop through %q", c.id(i), c.id(int(j)))
		}
		if j == NoRoute && len(way) > 1 {
			return wrong("sensor %q sends towards %q, which is not served", c.id(i), c.id(int(way[len(way)-1])))
		}
		for _, k := range way {
			state[k] = good
			if c.p.Parent[k] >= 0 && c.p.Parent[c.p.Parent[k]] == NoRoute {
				return wrong("sensor %q sends to %q, which is not served", c.id(int(k)), c.id(int(c.p.Parent[k])))
			}
		}
	}
	return nil
}

func (c *checker) unserved() error {
	listed := make(map[int]bool, len(c.p.Unserved))
	for _, u := range c.p.Unserved {
		if u.Sensor < 0 || u.Sensor >= len(c.p.Parent) || listed[u.Sensor] || u.Reason == "" {
			return wrong("the list of unserved sensors names number %d twice, without reason, or wrongly", u.Sensor)
		}
		listed[u.Sensor] = true
	}
	for i, parent := range c.p.Parent {
		if (parent == NoRoute) != listed[i] {
			return wrong("sensor %q: served is %v, listed as unserved is %v", c.id(i), parent != NoRoute, listed[i])
		}
	}
	return nil
}

func (c *checker) uploads() error {
	count := 0
	for s := range c.p.Stops {
		stop := &c.p.Stops[s]
		if anyContains(c.zones, stop.Pos) {
			return wrong("stop %d lies in a no-fly zone", s)
		}
		for k, i := range stop.Uploaders {
			if i < 0 || int(i) >= len(c.p.Stop) || int(c.p.Stop[i]) != s || c.p.Parent[i] != ToSink || k > 0 && stop.Uploaders[k-1] >= i {
				return wrong("uploader %d of stop %d is not one, or out of order", i, s)
			}
			if err := c.reaches(s, int(i)); err != nil {
				return err
			}
			count++
		}
	}
	for i, parent := range c.p.Parent {
		if parent == ToSink {
			count--
			if !slices.Contains(c.p.Stops[c.p.Stop[i]].Uploaders, int32(i)) {
				return wrong("sensor %q is missing at its stop", c.id(i))
			}
		}
	}
	if count != 0 {
		return wrong("uploaders and stops do not agree")
	}
	return nil
}

func (c *checker) reaches(s, i int) error {
	stop, sensor := &c.p.Stops[s], &c.in.Sensors[i]
	d := stop.Pos.Dist(sensor.Pos)
	switch {
	case d > c.in.Reach()+placeSlack:
		return wrong("sensor %q is %g m from its stop %d, further than %g m", sensor.ID, d, s, c.in.Reach())
	case c.in.Upload == Buffer && len(stop.Uploaders) != 1:
		return wrong("stop %d has %d uploaders instead of its own sensor", s, len(stop.Uploaders))
	case anyCrossed(c.shields, stop.Pos, sensor.Pos):
		return wrong("an obstacle shields sensor %q from its stop %d", sensor.ID, s)
	case c.in.Sink.Climb > 0 && stop.Alt < sensor.Alt-placeSlack:
		return wrong("stop %d is lower than its uploader %q", s, sensor.ID)
	}
	return nil
}

func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b), 1) }

func (c *checker) loads() error {
	packets := Packets(c.in, c.p)
	full := 0.0
	for i := range c.in.Sensors {
		full = max(full, c.in.Sensors[i].Energy)
	}
	most, received := 0.0, make([]float64, len(c.p.Stops))
	for i, parent := range c.p.Parent {
		want := packets[i]
		switch {
		case parent == NoRoute:
			want = 0
		case parent == ToSink:
			received[c.p.Stop[i]] += packets[i]
		default:
			want *= c.linkETX(i, int(parent))
		}
		if !alike(c.p.Load[i], want) {
			return wrong("sensor %q transmits %g packets, not %g", c.id(i), want, c.p.Load[i])
		}
		if want > 0 {
			most = max(most, want*full/c.in.Sensors[i].Energy)
		}
	}
	if !alike(c.p.MaxLoad, most) {
		return wrong("the largest load is %g, not %g", most, c.p.MaxLoad)
	}
	for s := range c.p.Stops {
		if !alike(c.p.Stops[s].Packets, received[s]) {
			return wrong("stop %d receives %g packets, not %g", s, received[s], c.p.Stops[s].Packets)
		}
	}
	return nil
}

func (c *checker) tours() error {
	if len(c.p.Tours) > c.in.Vehicles() {
		return wrong("%d tours for %d vehicles", len(c.p.Tours), c.in.Vehicles())
	}
	seen := make([]bool, len(c.p.Stops))
	for k := range c.p.Tours {
		t := &c.p.Tours[k]
		for _, s := range t.Stops {
			if s < 0 || int(s) >= len(seen) || seen[s] {
				return wrong("tour %d visits stop %d, which is none or visited before", k, s)
			}
			seen[s] = true
		}
		if err := c.path(k, t); err != nil {
			return err
		}
		if err := c.times(k, t); err != nil {
			return err
		}
	}
	if s := slices.Index(seen, false); s >= 0 {
		return wrong("no tour visits stop %d", s)
	}
	return nil
}

// path checks that a tour's line is closed, starts at the depot, passes its stops in order and keeps out of no-fly zones.
func (c *checker) path(k int, t *Tour) error {
	if len(t.Path) == 0 || t.Path[0] != t.Path[len(t.Path)-1] {
		return wrong("the path of tour %d is not closed", k)
	}
	if c.in.Depot != nil && t.Path[0] != *c.in.Depot {
		return wrong("tour %d does not start at the depot", k)
	}
	length, leg, part := 0.0, 0, 0.0
	for i := 1; i < len(t.Path); i++ {
		length += t.Path[i-1].Dist(t.Path[i])
		if anyCrossed(c.zones, t.Path[i-1], t.Path[i]) {
			return wrong("tour %d crosses a no-fly zone on leg %d", k, i)
		}
	}
	if !alike(length, t.Length) {
		return wrong("tour %d is %g m long, not %g", k, length, t.Length)
	}
	for _, s := range t.Stops {
		for !c.passes(t.Path, leg, &part, c.p.Stops[s].Pos) {
			if leg, part = leg+1, 0; leg >= max(len(t.Path)-1, 1) {
				return wrong("tour %d does not pass stop %d in its order", k, s)
			}
		}
	}
	return nil
}

// passes reports whether the leg passes q at or after the given part of it, and moves the part there.
func (c *checker) passes(path []Point, leg int, part *float64, q Point) bool {
	a, b := path[leg], path[min(leg+1, len(path)-1)]
	at := nearest(q, a, b)
	if q.Dist(at) > placeSlack {
		return false
	}
	t := 0.0
	if d := a.Dist(b); d > 0 {
		t = a.Dist(at) / d
		if t < *part-placeSlack/d {
			return false
		}
	}
	*part = max(*part, t)
	return true
}

func (c *checker) times(k int, t *Tour) error {
	sink, dwell, climb := c.in.Sink, 0.0, 0.0
	last := math.NaN()
	alts := make([]float64, 0, len(t.Stops)+2)
	if c.in.Depot != nil {
		alts = append(alts, c.in.DepotAlt)
	}
	for _, s := range t.Stops {
		alts = append(alts, c.p.Stops[s].Alt)
		wait := c.wait(c.p.Stops[s].Packets)
		if !near(c.p.Stops[s].Dwell, wait) {
			return wrong("the sink waits %v at stop %d for %g packets, which take %.6f s", c.p.Stops[s].Dwell, s, c.p.Stops[s].Packets, wait)
		}
		dwell += wait
	}
	for _, alt := range append(alts, alts[:min(1, len(alts))]...) {
		if !math.IsNaN(last) {
			climb += math.Abs(alt - last)
		}
		last = alt
	}
	travel, turn, up := t.Length/sink.Speed, sink.Turn.Seconds()*float64(len(t.Stops)), sink.Launch.Seconds()
	if sink.Climb > 0 {
		up += climb / sink.Climb
	}
	if !near(t.Travel, travel) || !near(t.Dwell, dwell) || !near(t.Turn, turn) || !near(t.Climb, up) {
		return wrong("tour %d takes %.6f s to travel, %.6f to wait, %.6f to turn and %.6f to climb, not %v, %v, %v and %v", k, travel, dwell, turn, up, t.Travel, t.Dwell, t.Turn, t.Climb)
	}
	if t.Total != t.Travel+t.Dwell+t.Turn+t.Climb {
		return wrong("the times of tour %d do not add up", k)
	}
	if t.Total > sink.Deadline {
		return wrong("tour %d takes %v, longer than the deadline %v", k, t.Total, sink.Deadline)
	}
	return nil
}

// wait is how many seconds a stop's packets take, in whole holds.
func (c *checker) wait(packets float64) float64 {
	sink := c.in.Sink
	if sink.Rate == 0 {
		return 0
	}
	s := packets / sink.Rate
	if hold := sink.Hold.Seconds(); hold > 0 {
		s = math.Ceil(s/hold-1e-9) * hold
	}
	return s
}

func near(d time.Duration, s float64) bool {
	return math.Abs(d.Seconds()-s) <= timeSlack.Seconds()+1e-9*math.Abs(s)
}

func (c *checker) certificate() error {
	if b := c.p.Certificate.Bound; b > c.p.MaxLoad*(1+1e-9) || b < 0 || math.IsNaN(b) {
		return wrong("its bound %g is not between 0 and its largest load %g", b, c.p.MaxLoad)
	}
	if r := c.p.Certificate.Routing; r > c.p.MaxLoad*(1+1e-6) || r < 0 || math.IsNaN(r) {
		return wrong("its bound on routings %g is not between 0 and its largest load %g", r, c.p.MaxLoad)
	}
	return nil
}
