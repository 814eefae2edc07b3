package mission

// Visit is when a vehicle waits at a stop, in seconds since the start of its tour.
type Visit struct {
	Stop          int // index into Plan.Stops; -1 for the return
	Arrive, Leave float64
}

// Visits times a tour: legs at the sink's speed, climbs, turns and dwells; half of the launch time is spent at each end.
// The last one is the return, at the tour's Total.
func (m *Mission) Visits(tour int) ([]Visit, error) {
	sink := &m.Instance.Sink
	legs, err := m.legs(&m.Plan.Tours[tour])
	if err != nil {
		return nil, err
	}
	launch, turn := sink.Launch.Seconds(), sink.Turn.Seconds()
	var list []Visit
	clock := launch / 2
	for _, l := range legs {
		clock += l.length / sink.Speed
		if sink.Climb > 0 {
			clock += l.climb / sink.Climb
		}
		if l.stop < 0 {
			continue
		}
		clock += turn
		leave := clock + m.Plan.Stops[l.stop].Dwell.Seconds()
		list = append(list, Visit{l.stop, clock, leave})
		clock = leave
	}
	clock += launch / 2
	return append(list, Visit{-1, clock, clock}), nil
}
