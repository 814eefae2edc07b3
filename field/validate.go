package field

import (
	"fmt"
	"math"
)

// maxCoordinate bounds positions in metres: a planner in a plane makes no sense beyond it.
const maxCoordinate = 1e8

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Validate reports the first fault of the instance as an *InputError.
func (in *Instance) Validate() error {
	if len(in.Sensors) == 0 {
		return &InputError{Field: "sensors", Sensor: -1, Problem: "there are none"}
	}
	if len(in.Sensors) > math.MaxInt32/2 {
		return &InputError{Field: "sensors", Sensor: -1, Problem: "too many"}
	}
	for i := range in.Sensors {
		if field, problem := in.Sensors[i].fault(); field != "" {
			return &InputError{Field: field, Sensor: i, ID: in.Sensors[i].ID, Problem: problem}
		}
	}
	if err := in.validateRadio(); err != nil {
		return err
	}
	if err := in.validateObstacles(); err != nil {
		return err
	}
	return in.validateSink()
}

func (s *Sensor) fault() (field, problem string) {
	switch {
	case !goodPoint(s.Pos):
		return "position", fmt.Sprintf("(%g, %g) is not a place within %g m of the origin", s.Pos.X, s.Pos.Y, float64(maxCoordinate))
	case !finite(s.Alt):
		return "altitude", fmt.Sprintf("%g is not a number of metres", s.Alt)
	case !finite(s.Weight) || s.Weight < 0 || s.Weight > 1e12:
		return "weight", fmt.Sprintf("%g is not a number of packets from 0 to 1e12", s.Weight)
	case !finite(s.Energy) || s.Energy < 0:
		return "energy", fmt.Sprintf("%g is not a number of joules from 0 on", s.Energy)
	}
	return "", ""
}

func goodPoint(p Point) bool {
	return math.Abs(p.X) <= maxCoordinate && math.Abs(p.Y) <= maxCoordinate
}

func (in *Instance) validateRadio() error {
	bad := func(field, format string, args ...any) error {
		return &InputError{Field: field, Sensor: -1, Problem: fmt.Sprintf(format, args...)}
	}
	if in.Links == nil && !(in.Range > 0 && finite(in.Range)) {
		return bad("range", "%g is not a number of metres above 0", in.Range)
	}
	if in.UploadRange < 0 || !finite(in.UploadRange) || in.Range < 0 || !finite(in.Range) {
		return bad("upload range", "%g is not a number of metres from 0 on", in.UploadRange)
	}
	if in.Upload != Listen && in.Upload != Buffer {
		return bad("upload", "unknown model %d", int(in.Upload))
	}
	if in.Upload == Listen && in.Reach() == 0 {
		return bad("upload range", "needed when links are given and the sink listens to every sensor near it")
	}
	for i, l := range in.Links {
		n := len(in.Sensors)
		switch {
		case l.A < 0 || l.A >= n || l.B < 0 || l.B >= n:
			return bad("links", "link %d joins sensors %d and %d, but there are %d", i+1, l.A, l.B, n)
		case l.A == l.B:
			return bad("links", "link %d joins sensor %q with itself", i+1, in.Sensors[l.A].ID)
		case !finite(l.ETX) || l.ETX < 1 || l.ETX > 1e6:
			return bad("links", "link %d between %q and %q: ETX %g is not from 1 to 1e6", i+1, in.Sensors[l.A].ID, in.Sensors[l.B].ID, l.ETX)
		}
	}
	return nil
}

func (in *Instance) validateObstacles() error {
	for i, o := range in.Obstacles {
		name := o.Name
		if name == "" {
			name = fmt.Sprintf("number %d", i+1)
		}
		if len(newPolygon(o.Ring).ring) < 3 {
			return &InputError{Field: "obstacle " + name, Sensor: -1, Problem: "has fewer than 3 corners"}
		}
		for _, p := range o.Ring {
			if !goodPoint(p) {
				return &InputError{Field: "obstacle " + name, Sensor: -1, Problem: fmt.Sprintf("corner (%g, %g) is not a place", p.X, p.Y)}
			}
		}
	}
	return nil
}

func (in *Instance) validateSink() error {
	bad := func(field, format string, args ...any) error {
		return &InputError{Field: field, Sensor: -1, Problem: fmt.Sprintf(format, args...)}
	}
	s := in.Sink
	switch {
	case !(s.Speed > 0 && finite(s.Speed)):
		return bad("speed", "%g is not a number of m/s above 0", s.Speed)
	case s.Deadline < 0:
		return bad("deadline", "%v is negative", s.Deadline)
	case s.Rate < 0 || !finite(s.Rate):
		return bad("rate", "%g is not a number of packets/s from 0 on", s.Rate)
	case s.Climb < 0 || !finite(s.Climb):
		return bad("climb", "%g is not a number of m/s from 0 on", s.Climb)
	case s.Turn < 0 || s.Launch < 0 || s.Hold < 0:
		return bad("turn", "times are negative")
	case in.Sinks < 0 || in.Sinks > 1<<16:
		return bad("sinks", "%d is not from 1 to %d", in.Sinks, 1<<16)
	case in.Depot != nil && !goodPoint(*in.Depot):
		return bad("depot", "(%g, %g) is not a place", in.Depot.X, in.Depot.Y)
	case !finite(in.DepotAlt):
		return bad("depot", "altitude %g is not a number of metres", in.DepotAlt)
	}
	if in.Depot != nil && anyContains(polygonsOf(in.Obstacles, func(o Obstacle) bool { return o.NoFly }), *in.Depot) {
		return bad("depot", "(%g, %g) lies in a no-fly zone", in.Depot.X, in.Depot.Y)
	}
	return nil
}
