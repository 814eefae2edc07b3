package lbd

import (
	"time"

	"millrace.dev/field/lbd/node"
)

// Tour is what a tour of the sink came to.
type Tour struct {
	Length  float64       `json:"length_m"` // driven, back to where it set out
	Stops   int           `json:"stops"`
	Packets uint64        `json:"packets"`
	Skipped int           `json:"skipped"` // places that it headed for but which were dead
	Time    time.Duration `json:"time_ns"`
}

// Tour lets the sink make a tour from sensor start, while the network works on. It is over when the sink is
// back, or at the moment until.
func (w *Network) Tour(start int, until Time) (Tour, error) {
	w.tour, w.touring = Tour{}, true
	begun := w.now
	s := &w.stations[len(w.in.Sensors)]
	w.placeSink(start)
	s.dead = false
	w.sink.SetOut(node.ID(start))
	w.sink.Arrived(w.now)
	w.after(len(w.in.Sensors))
	_, err := w.RunUntil(until, w.slot, w.sink.Done)
	w.touring = false
	w.leave()
	w.tour.Stops, w.tour.Packets = w.sink.Stops, w.sink.Packets
	w.tour.Time = time.Duration(float64(w.now-begun) * tickSeconds * float64(time.Second))
	return w.tour, err
}

// driveSink starts the drive that the sink asks for.
func (w *Network) driveSink() {
	to := w.sink.Move()
	if !w.touring || to == node.Nobody || w.sink.Done() {
		return
	}
	s := &w.stations[len(w.in.Sensors)]
	if s.parent == to {
		return // under way
	}
	s.parent = to
	dist := s.pos.Dist(w.stations[to].pos)
	w.tour.Length += dist
	w.leave()
	ticks := Time(dist / max(w.in.Sink.Speed, 1e-3) / tickSeconds)
	w.events.add(event{at: w.now + 1 + ticks, kind: evArrive, station: int32(len(w.in.Sensors))})
}

// arrive puts the sink where it was driving to.
func (w *Network) arrive() {
	s := &w.stations[len(w.in.Sensors)]
	to := int(s.parent)
	s.parent = node.Nobody
	if w.stations[to].dead {
		w.tour.Skipped++
	}
	w.placeSink(to)
	w.sink.Arrived(w.now)
}

// placeSink puts the sink beside sensor i: it hears whom the sensor hears.
func (w *Network) placeSink(i int) {
	sink := int32(len(w.in.Sensors))
	s := &w.stations[sink]
	s.pos = w.stations[i].pos
	s.links = append(s.links[:0], link{to: int32(i), loss: w.opt.Loss})
	for _, l := range w.stations[i].links {
		s.links = append(s.links, link{to: l.to, loss: l.loss})
	}
	for _, l := range s.links {
		w.stations[l.to].links = append(w.stations[l.to].links, link{to: sink, loss: l.loss})
	}
}

// leave takes the sink out of everybody's reach.
func (w *Network) leave() {
	sink := int32(len(w.in.Sensors))
	for _, l := range w.stations[sink].links {
		other := &w.stations[l.to]
		for k := range other.links {
			if other.links[k].to == sink {
				other.links = append(other.links[:k], other.links[k+1:]...)
				break
			}
		}
	}
	w.stations[sink].links = w.stations[sink].links[:0]
}
