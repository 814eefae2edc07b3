package field

import (
	"fmt"
	"math"
	"time"
)

// Point is a position in a local plane: metres east (X) and north (Y) of an origin that the reader
// of the input chooses.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Dist is the straight distance to q in metres.
func (p Point) Dist(q Point) float64 { return math.Sqrt((p.X-q.X)*(p.X-q.X) + (p.Y-q.Y)*(p.Y-q.Y)) }

// Sensor is one node of the network.
type Sensor struct {
	ID     string  `json:"id"`
	Pos    Point   `json:"pos"`
	Alt    float64 `json:"alt"`    // metres above the common datum
	Weight float64 `json:"weight"` // packets that it produces in a round; 0 makes it a pure relay
	Energy float64 `json:"energy"` // joules at the start; 0 means dead: it neither sends nor relays
}

// Link is a usable radio link between sensors A and B (indices), in both directions.
type Link struct {
	A   int     `json:"a"`
	B   int     `json:"b"`
	ETX float64 `json:"etx"` // expected transmissions per delivered packet, at least 1
}

// Obstacle is a simple polygon. The ring need not repeat its first point.
type Obstacle struct {
	Name   string  `json:"name"`
	Ring   []Point `json:"ring"`
	NoFly  bool    `json:"no_fly"` // the sink may touch its edge but not cross it
	Shield bool    `json:"shield"` // radio does not pass through it
}

// Upload says who may talk to a sink that waits at a stop.
type Upload int

const (
	// Listen is model M1: the sink hears every sensor within the upload range of the stop directly.
	Listen Upload = iota
	// Buffer is model M2: a stop is at a sensor, the rendezvous point, and only this one uploads,
	// its own packets and those it buffered for others.
	Buffer
)

// String is the name used in files and flags.
func (u Upload) String() string {
	switch u {
	case Listen:
		return "listen"
	case Buffer:
		return "buffer"
	}
	return fmt.Sprintf("Upload(%d)", int(u))
}

// ParseUpload reads the name written by [Upload.String].
func ParseUpload(s string) (Upload, error) {
	switch s {
	case "listen", "M1", "m1":
		return Listen, nil
	case "buffer", "M2", "m2":
		return Buffer, nil
	}
	return 0, &InputError{Field: "upload", Sensor: -1, Problem: fmt.Sprintf("%q is neither listen nor buffer", s)}
}

// MarshalText writes the model's name.
func (u Upload) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the model's name.
func (u *Upload) UnmarshalText(b []byte) (err error) { *u, err = ParseUpload(string(b)); return err }

// Sink is the vehicle. All its vehicles (see Instance.Sinks) are alike.
type Sink struct {
	Speed    float64       `json:"speed"`    // metres per second in level travel
	Deadline time.Duration `json:"deadline"` // a whole tour with everything must end within it; also the length of a round
	Rate     float64       `json:"rate"`     // packets per second received at a stop; 0 means that uploading, and so waiting, takes no time
	Turn     time.Duration `json:"turn"`     // lost at each stop for braking, turning and speeding up
	Hold     time.Duration `json:"hold"`     // waits at stops are rounded up to multiples of it, as an autopilot's are to seconds; 0 means exact waits
	Climb    float64       `json:"climb"`    // metres per second up or down; 0 means that altitude costs no time
	Launch   time.Duration `json:"launch"`   // take-off and landing, once a tour, however short
}

// Instance is one planning problem.
type Instance struct {
	Sensors     []Sensor   `json:"sensors"`
	Range       float64    `json:"range"`          // radio range in metres; not used when Links are given
	Links       []Link     `json:"links,omitzero"` // when not nil these are the radio graph
	UploadRange float64    `json:"upload_range"`   // metres at which the sink hears a sensor; 0 means Range
	Obstacles   []Obstacle `json:"obstacles,omitzero"`
	Depot       *Point     `json:"depot,omitzero"` // where each tour starts and ends; nil leaves the start free
	DepotAlt    float64    `json:"depot_alt"`      // metres
	Sinks       int        `json:"sinks"`          // number of vehicles; 0 means 1
	Sink        Sink       `json:"sink"`
	Upload      Upload     `json:"upload"`
	Energy      Energy     `json:"energy"`
}

// Vehicles is the number of sinks, at least 1.
func (in *Instance) Vehicles() int { return max(in.Sinks, 1) }

// Reach is the distance in metres at which a waiting sink hears a sensor: 0 in the Buffer model.
func (in *Instance) Reach() float64 {
	switch {
	case in.Upload == Buffer:
		return 0
	case in.UploadRange > 0:
		return in.UploadRange
	}
	return in.Range
}

// Values of Plan.Parent that are not a sensor.
const (
	ToSink  = -1 // uploads to the sink itself
	NoRoute = -2 // is not served
)

// Plan is what the sink and every sensor do in each round. Indices refer to Instance.Sensors and Plan.Stops.
type Plan struct {
	Method      string      `json:"method"`      // the planner's name, such as "rps-lb"
	Seed        uint64      `json:"seed"`        // what its random choices came from
	Parent      []int32     `json:"parent"`      // per sensor: next hop, ToSink or NoRoute
	Stop        []int32     `json:"stop"`        // per sensor: the stop at which it uploads itself, else -1
	Load        []float64   `json:"load"`        // per sensor: packets transmitted in a round, own, relayed and repeated (ETX)
	Stops       []Stop      `json:"stops"`       //
	Tours       []Tour      `json:"tours"`       // one for each vehicle that drives
	MaxLoad     float64     `json:"max_load"`    // largest Load[i] x (largest energy / energy of i): what the plan minimises
	Busiest     int         `json:"busiest"`     // the sensor with MaxLoad; -1 when nothing is served
	Certificate Certificate `json:"certificate"` //
	Unserved    []Unserved  `json:"unserved"`    // in order of Sensor
}

// Stop is a place where the sink waits.
type Stop struct {
	Pos       Point         `json:"pos"`
	Alt       float64       `json:"alt"`       // metres: of its highest uploader
	Uploaders []int32       `json:"uploaders"` // sensors that upload here, ascending
	Packets   float64       `json:"packets"`   // uploaded here in a round
	Dwell     time.Duration `json:"dwell"`     // Packets / Sink.Rate, rounded up to a multiple of Sink.Hold
}

// Tour is the closed drive of one vehicle.
type Tour struct {
	Stops  []int32       `json:"stops"`  // in the order of the visit
	Path   []Point       `json:"path"`   // the whole line driven: depot, stops, corners of detours; the last point equals the first
	Length float64       `json:"length"` // metres along Path
	Travel time.Duration `json:"travel"` // Length / Speed
	Dwell  time.Duration `json:"dwell"`  // waiting at stops
	Turn   time.Duration `json:"turn"`   // braking and turning at stops
	Climb  time.Duration `json:"climb"`  // going up and down between stops, and take-off and landing
	Total  time.Duration `json:"total"`  // sum of the four: at most Sink.Deadline
}

// Certificate proves how far MaxLoad can be from the best possible.
type Certificate struct {
	Bound  float64 `json:"bound"`  // no plan that serves the same sensors has a smaller MaxLoad
	Gap    float64 `json:"gap"`    // (MaxLoad - Bound) / MaxLoad, 0 when MaxLoad is 0
	Source string  `json:"source"` // which argument gave the bound: "own packets", "cut", "flow"
	// Routing is a second, weaker promise: no routing to the sensors that hear this plan's route, over any number of
	// next hops, has a smaller MaxLoad. 0 when it was not computed (more than 5,000 sensors).
	Routing float64 `json:"routing"`
}

// Reason says why a sensor is not served.
type Reason string

// Reasons.
const (
	NoEnergy    Reason = "it has no energy"
	OutOfReach  Reason = "its part of the network cannot be visited within the deadline"
	InNoFly     Reason = "no stop outside the no-fly zones hears it or a neighbour"
	NothingSent Reason = "it produces no packets and relays none" // only listed when it has no way to a stop
)

// Unserved is a sensor whose packets the plan does not collect.
type Unserved struct {
	Sensor int    `json:"sensor"`
	Reason Reason `json:"reason"`
}

// Options steer the planner. The zero value is a good choice.
type Options struct {
	Seed    uint64 // source of every random choice
	Partial bool   // leave out parts that cannot be visited in time instead of failing
	Effort  int    // improvement steps; 0 lets the size of the instance decide, negative means none
	// Progress, when not nil, is called from the planning goroutine now and then: the stage's name and
	// how much of it is done, in parts of total.
	Progress func(stage string, done, total int)
}

func (o Options) report(stage string, done, total int) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

// InputError is a fault in an instance. Sensor is the index at fault, or -1.
type InputError struct {
	Field   string // such as "weight", "range", "obstacle"
	Sensor  int
	ID      string // the sensor's id when Sensor >= 0
	Problem string
}

func (e *InputError) Error() string {
	if e.Sensor >= 0 {
		return fmt.Sprintf("sensor %q (number %d): %s: %s", e.ID, e.Sensor+1, e.Field, e.Problem)
	}
	return e.Field + ": " + e.Problem
}

// InfeasibleError reports that no plan keeps the deadline.
type InfeasibleError struct {
	Problem    string        // what does not fit, in words
	Deadline   time.Duration // what was asked
	Nearest    time.Duration // a deadline for which a plan is known to exist; 0 when none is (see Problem)
	Components [][]int32     // the parts of the radio graph that each need a stop, largest first
}

func (e *InfeasibleError) Error() string {
	if e.Nearest == 0 {
		return "no plan: " + e.Problem
	}
	return fmt.Sprintf("no plan within %v: %s; nearest feasible deadline %v", e.Deadline, e.Problem, e.Nearest)
}
