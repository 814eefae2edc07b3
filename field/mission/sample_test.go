package mission

import (
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

// sample is a plan made by hand: two stops, a detour corner before the second one, and an unserved sensor.
//
//	s0 -> s1 -> stop 1   s2 -> stop 1   s3 -> s4 -> stop 2   s5 is dead
func sample(t testing.TB) *Mission {
	t.Helper()
	in := &field.Instance{
		Sensors: []field.Sensor{
			{ID: "a,1", Pos: field.Point{X: 0, Y: 0}, Weight: 1, Energy: 1}, {ID: `b"<&>`, Pos: field.Point{X: 20, Y: 0}, Alt: 4, Weight: 2, Energy: 1},
			{ID: "ü", Pos: field.Point{X: 20, Y: 30}, Alt: 10, Weight: 1, Energy: 1}, {ID: "s3", Pos: field.Point{X: 220, Y: 100}, Weight: 1, Energy: 1},
			{ID: "s4", Pos: field.Point{X: 200, Y: 100}, Weight: 0, Energy: 1}, {ID: "s5", Pos: field.Point{X: 500, Y: 0}, Weight: 1, Energy: 0}},
		Range: 30, Depot: &field.Point{X: 10, Y: -40}, DepotAlt: 5,
		Sink:   field.Sink{Speed: 5, Deadline: 20 * time.Minute, Rate: 4, Hold: time.Second, Turn: 3 * time.Second, Climb: 2, Launch: 10 * time.Second},
		Energy: field.FirstOrder(),
	}
	corner := field.Point{X: 100, Y: 80}
	plan := &field.Plan{Method: "by hand", Parent: []int32{1, field.ToSink, field.ToSink, 4, field.ToSink, field.NoRoute},
		Stop: []int32{-1, 0, 0, -1, 1, -1}, Load: []float64{1, 3, 1, 1, 1, 0}, MaxLoad: 3, Busiest: 1,
		Stops: []field.Stop{{Pos: field.Point{X: 20, Y: 10}, Alt: 10, Uploaders: []int32{1, 2}, Packets: 4, Dwell: time.Second},
			{Pos: field.Point{X: 200, Y: 100}, Uploaders: []int32{4}, Packets: 1, Dwell: time.Second}},
		Unserved: []field.Unserved{{Sensor: 5, Reason: field.NoEnergy}}}
	path := []field.Point{*in.Depot, plan.Stops[0].Pos, corner, plan.Stops[1].Pos, *in.Depot}
	tour := field.Tour{Stops: []int32{0, 1}, Path: path, Dwell: 2 * time.Second, Turn: 6 * time.Second, Climb: 20 * time.Second}
	for i := range path[1:] {
		tour.Length += path[i].Dist(path[i+1])
	}
	tour.Travel = time.Duration(tour.Length / 5 * float64(time.Second))
	tour.Total = tour.Travel + tour.Dwell + tour.Turn + tour.Climb
	plan.Tours = []field.Tour{tour}
	frame, err := geo.New(geo.LatLon{Lat: 52, Lon: 5})
	if err != nil {
		t.Fatal(err)
	}
	return &Mission{Instance: in, Plan: plan, Frame: frame, Vehicle: Copter, Height: 30}
}

// waitsExactly is the sample with a vehicle that need not wait whole seconds: half a second and an eighth.
func waitsExactly(t testing.TB) *Mission {
	t.Helper()
	m := sample(t)
	m.Instance.Sink.Hold, m.Instance.Sink.Rate = 0, 8
	m.Plan.Stops[0].Dwell, m.Plan.Stops[1].Dwell = 500*time.Millisecond, 125*time.Millisecond
	tour := &m.Plan.Tours[0]
	tour.Dwell = 625 * time.Millisecond
	tour.Total = tour.Travel + tour.Dwell + tour.Turn + tour.Climb
	return m
}
