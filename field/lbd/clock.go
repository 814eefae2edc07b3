package lbd

import (
	"math"
	"time"

	"millrace.dev/field"
)

// tickSeconds is the length of a tick when the sink's tour is timed.
const tickSeconds = 1e-3

// ticks are seconds in ticks, rounded up.
func ticks(s float64) Time { return Time(math.Ceil(s / tickSeconds)) }

func ticksOf(d time.Duration) Time { return ticks(d.Seconds()) }

func durationOf(t Time) time.Duration {
	return time.Duration(float64(t) * tickSeconds * float64(time.Second))
}

// talk is the time in slots that the sink spends at a stop on calling, listening and asking.
const talk = 16

// drive is the time of a leg without the stop at its end.
func (w *Network) drive(metres, climb float64) Time {
	s := metres / w.in.Sink.Speed
	if w.in.Sink.Climb > 0 {
		s += math.Abs(climb) / w.in.Sink.Climb
	}
	return ticks(s)
}

// step is the longest time from a sensor to a neighbour, the turn there included.
func (w *Network) step() Time {
	return w.drive(w.longest, w.steepest) + ticksOf(w.in.Sink.Turn) + 1
}

// ends is the time from the start of a tour until the sink waits at sensor i, and from there until it is back: half of the launch
// and, when there is a depot, the leg between them.
func (w *Network) ends(i int) (out, back Time, metres float64) {
	half := ticksOf(w.in.Sink.Launch / 2)
	if w.in.Depot == nil {
		return half + ticksOf(w.in.Sink.Turn), half, 0
	}
	metres = w.in.Depot.Dist(w.stations[i].pos)
	leg := w.drive(metres, w.in.Sensors[i].Alt-w.in.DepotAlt)
	return half + leg + ticksOf(w.in.Sink.Turn), leg + half, metres
}

// spare is the time in ticks that a tour has for stops beside its first one: the deadline without launch, the way to the first stop, the
// stop itself and the upload of all packets. Negative when not even that fits.
func (w *Network) spare() Time {
	out, back, _ := w.ends(w.opt.Start)
	left := ticksOf(w.in.Sink.Deadline) - out - back - talk*w.slot
	if rate := w.in.Sink.Rate; rate > 0 {
		for i := range w.in.Sensors {
			if !w.stations[i].dead {
				left -= ticks(w.in.Sensors[i].Weight / rate)
			}
		}
	}
	return left
}

// budget is the number of stops beside the root for which a walk there and back keeps the deadline, whatever the links' lengths.
func (w *Network) budget() uint32 {
	each := 2*w.step() + talk*w.slot
	return uint32(min(max(w.spare(), 0)/each, Time(len(w.in.Sensors))))
}

// nearest is the living sensor nearest to a place, -1 when all are dead.
func (w *Network) nearest(to field.Point) int {
	best := -1
	for i := range w.in.Sensors {
		if w.Alive(i) && (best < 0 || to.Dist(w.stations[i].pos) < to.Dist(w.stations[best].pos)) {
			best = i
		}
	}
	return best
}
