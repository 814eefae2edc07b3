package mission

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

// Vehicle is a kind of autopilot.
type Vehicle string

// Vehicles.
const (
	Copter Vehicle = "copter"
	Plane  Vehicle = "plane"
	Rover  Vehicle = "rover"
	Boat   Vehicle = "boat"
)

// Vehicles lists all kinds.
var Vehicles = []Vehicle{Copter, Plane, Rover, Boat}

// kinds are the names of all vehicles, as in a sentence.
func kinds() string {
	names := make([]string, len(Vehicles))
	for i, v := range Vehicles {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}

// flies tells whether the vehicle takes off.
func (v Vehicle) flies() bool { return v == Copter || v == Plane }

// Mission is a plan with what its files need beside it.
type Mission struct {
	Instance *field.Instance `json:"instance"`
	Plan     *field.Plan     `json:"plan"`
	Frame    *geo.Frame      `json:"frame,omitzero"` // nil when nobody knows where on the Earth the plane lies
	Vehicle  Vehicle         `json:"vehicle"`        //
	Height   float64         `json:"height"`         // metres above the ground in level flight; not used by rovers and boats
}

// ErrNoFrame is returned when a file needs places on the Earth and the mission has no frame.
var ErrNoFrame = errors.New("the sensors are in metres and the origin's latitude and longitude are not known")

// WaitError is a stop at which no autopilot can wait as long as the plan wants: they count whole seconds. Waiting longer could
// break the deadline, so the plan has to be made with a Sink.Hold of one second.
type WaitError struct {
	Stop  int // index into Plan.Stops
	Dwell time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("stop %d waits %v, but autopilots wait whole seconds: plan with a Hold of 1s", e.Stop+1, e.Dwell)
}

// BadInput marks the error as a fault of the data rather than of the program.
func (e *WaitError) BadInput() bool { return true }

// MAVLink commands (common.xml).
const (
	cmdWaypoint    = 16
	cmdLoiterTime  = 19
	cmdReturn      = 20
	cmdTakeoff     = 22
	cmdChangeSpeed = 178
)

// MAVLink coordinate frames.
const (
	frameGlobal   = 0
	frameMission  = 2
	frameRelative = 3 // altitude above home
)

// item is one MAVLink mission item. A yaw of NaN keeps the heading.
type item struct {
	command, frame int
	params         [4]float64
	place          geo.LatLon // zero for items without a place
	alt            float64
}

func (it item) placed() bool { return it.frame == frameRelative }

// leg is one straight piece of a tour.
type leg struct {
	to     field.Point
	alt    float64 // metres, of the ground there
	length float64 // metres
	climb  float64 // metres up or down, without sign
	stop   int     // index of the stop at the end, -1 for a corner or the end of the tour
}

// onPath is how far in metres a stop may lie beside its tour's path; field.Check allows as much.
const onPath = 1e-3

// legs cuts a tour's path at its stops and corners. The last leg leads back to the start.
func (m *Mission) legs(t *field.Tour) (list []leg, err error) {
	if len(t.Path) == 0 {
		return nil, errors.New("the tour has no path")
	}
	next := 0
	for k := range max(len(t.Path)-1, 1) {
		a, b := t.Path[k], t.Path[min(k+1, len(t.Path)-1)]
		done, length := 0.0, a.Dist(b)
		for next < len(t.Stops) {
			stop := &m.Plan.Stops[t.Stops[next]]
			part, beside := along(a, b, stop.Pos)
			if beside > onPath || part*length < done*length-onPath {
				break
			}
			part = max(part, done)
			list = append(list, leg{to: stop.Pos, length: (part - done) * length, stop: int(t.Stops[next])})
			done = part
			next++
		}
		if rest := (1 - done) * length; rest > onPath || k == len(t.Path)-2 || len(t.Path) == 1 {
			list = append(list, leg{to: b, length: rest, stop: -1})
		} else if len(list) > 0 {
			list[len(list)-1].length += rest
		}
	}
	if next != len(t.Stops) {
		return nil, fmt.Errorf("the tour's path does not pass its stop %d", t.Stops[next]+1)
	}
	m.altitudes(list, m.startAlt(t))
	return list, nil
}

// along is the part of the way from a to b at which q is nearest, and q's distance from there.
func along(a, b, q field.Point) (part, beside float64) {
	dx, dy := b.X-a.X, b.Y-a.Y
	if square := dx*dx + dy*dy; square > 0 {
		part = min(max(((q.X-a.X)*dx+(q.Y-a.Y)*dy)/square, 0), 1)
	}
	return part, q.Dist(field.Point{X: a.X + part*dx, Y: a.Y + part*dy})
}

// startAlt is the altitude at which a tour begins and ends: that of the depot, or of its first stop.
func (m *Mission) startAlt(t *field.Tour) float64 {
	if m.Instance.Depot == nil && len(t.Stops) > 0 {
		return m.Plan.Stops[t.Stops[0]].Alt
	}
	return m.Instance.DepotAlt
}

// altitudes fills in heights and climbs: a stop's own, and between two stops that of the higher one, so that
// going there and on is no longer a climb than going directly.
func (m *Mission) altitudes(list []leg, start float64) {
	before := start
	for i := 0; i < len(list); {
		j := i
		for j < len(list)-1 && list[j].stop < 0 {
			j++
		}
		end := start
		if list[j].stop >= 0 {
			end = m.Plan.Stops[list[j].stop].Alt
		}
		for k := i; k < j; k++ {
			list[k].alt = math.Max(before, end)
		}
		list[j].alt = end
		i, before = j+1, end
	}
	at := start
	for i := range list {
		list[i].climb = math.Abs(list[i].alt - at)
		at = list[i].alt
	}
}

// home is where a tour starts, on the Earth.
func (m *Mission) home(t *field.Tour) geo.LatLon { return m.rounded(t.Path[0]) }

// items are the commands of one tour.
func (m *Mission) items(t *field.Tour) ([]item, error) {
	if m.Frame == nil {
		return nil, ErrNoFrame
	}
	legs, err := m.legs(t)
	if err != nil {
		return nil, err
	}
	height, home := 0.0, m.startAlt(t)
	var list []item
	if m.Vehicle.flies() {
		height = m.Height
		list = append(list, item{command: cmdTakeoff, frame: frameRelative, params: [4]float64{3: math.NaN()}, place: m.home(t), alt: height})
	}
	const groundSpeed, keepThrottle = 1, -1
	list = append(list, item{command: cmdChangeSpeed, frame: frameMission, params: [4]float64{groundSpeed, m.Instance.Sink.Speed, keepThrottle, 0}})
	for _, l := range legs[:max(len(legs)-1, 0)] {
		it := item{command: cmdWaypoint, frame: frameRelative, params: [4]float64{3: math.NaN()}, place: m.rounded(l.to), alt: l.alt - home + height}
		if l.stop >= 0 {
			dwell := m.Plan.Stops[l.stop].Dwell
			if dwell%time.Second != 0 {
				return nil, &WaitError{l.stop, dwell}
			}
			it.params[0] = dwell.Seconds()
			if m.Vehicle == Plane && it.params[0] > 0 {
				it.command = cmdLoiterTime
				it.params[3] = 0 // leave the circle anywhere
			}
		}
		list = append(list, it)
	}
	return append(list, item{command: cmdReturn, frame: frameMission}), nil
}

// rounded is a point on the Earth in whole 1e-7 degrees.
func (m *Mission) rounded(p field.Point) geo.LatLon {
	place := m.Frame.Global(p)
	return geo.LatLon{Lat: math.Round(place.Lat*1e7) / 1e7, Lon: math.Round(place.Lon*1e7) / 1e7}
}
