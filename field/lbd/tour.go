package lbd

import (
	"time"

	"millrace.dev/field/lbd/node"
)

// Tour is what a tour of the sink came to.
type Tour struct {
	Length   float64       `json:"length_m"` // driven, back to where it set out
	Arrivals int           `json:"arrivals"` // drives that ended at a sensor, each with a turn
	Stops    int           `json:"stops"`    // visits at which it called for packets
	Packets  uint64        `json:"packets"`
	Skipped  int           `json:"skipped"` // places that it headed for but which were dead
	Time     time.Duration `json:"time_ns"` // with everything: driving, turns, uploads, talk, launch
}

// Tour lets the sink make a tour from sensor start, or from the depot by way of it, while the network works on. It is over within the
// instance's deadline; a tour for which the way to start and back takes longer is not begun.
func (w *Network) Tour(start int) (Tour, error) {
	begun := w.now
	end := begun + ticksOf(w.in.Sink.Deadline) - 1 // a tick for waking up
	out, back, metres := w.ends(start)
	if w.tour = (Tour{}); begun+out > end-back {
		return w.tour, nil
	}
	if err := w.Run(begun + out); err != nil {
		return w.tour, err
	}
	w.tour.Length, w.tour.Arrivals = 2*metres, 1
	w.touring, w.home = true, 0
	sink := len(w.in.Sensors)
	w.placeSink(start)
	w.stations[sink].dead = false
	w.sink.SetOut(node.ID(start), end-back)
	w.sink.Arrived(w.now)
	w.after(sink)
	_, err := w.RunUntil(end, w.slot, w.sink.Done)
	w.touring = false
	w.leave()
	w.tour.Stops, w.tour.Packets = w.sink.Stops, w.sink.Packets
	w.tour.Time = durationOf(w.home + back - begun)
	return w.tour, err
}

// driveSink starts the drive that the sink asks for.
func (w *Network) driveSink() {
	s, to := &w.stations[len(w.in.Sensors)], w.sink.Move()
	switch {
	case !w.touring || s.parent != node.Nobody: // under way
		return
	case w.sink.Done():
		if w.home == 0 {
			w.home = max(w.now, w.sink.Busy())
		}
		return
	case to == node.Nobody:
		return
	}
	s.parent = to
	metres, climb := s.pos.Dist(w.stations[to].pos), w.in.Sensors[to].Alt-w.in.Sensors[w.place].Alt
	w.tour.Length += metres
	w.tour.Arrivals++
	w.leave()
	at := max(w.now, w.sink.Busy()) + w.drive(metres, climb) + ticksOf(w.in.Sink.Turn)
	w.events.Add(max(at, w.now+1), event{kind: evArrive, station: int32(len(w.in.Sensors))})
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
	s.pos, w.place = w.stations[i].pos, i
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
