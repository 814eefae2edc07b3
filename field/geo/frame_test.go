package geo

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	orbgeo "github.com/paulmach/orb/geo"
	"pgregory.net/rapid"

	"millrace.dev/field"
)

func place(t *rapid.T, label string) LatLon {
	return LatLon{rapid.Float64Range(-90, 90).Draw(t, label+" lat"), rapid.Float64Range(-180, 180).Draw(t, label+" lon")}
}

// Flinders Peak to Buninyong, the usual test line of geodesic programs (Geoscience Australia, on GRS 80, whose
// flattening differs from that of WGS 84 in the tenth digit).
func TestKnownGeodesic(t *testing.T) {
	a, b := LatLon{-(37 + 57/60. + 3.72030/3600), 144 + 25/60. + 29.52440/3600}, LatLon{-(37 + 39/60. + 10.15610/3600), 143 + 55/60. + 35.38390/3600}
	dist, azimuth, ok := inverse(a, b)
	if !ok || math.Abs(dist-54972.271) > 0.001 {
		t.Fatalf("length %.4f m, want 54972.271", dist)
	}
	if want := 306 + 52/60. + 5.37/3600; math.Abs(degrees(azimuth)+360-want) > 1e-5 {
		t.Fatalf("azimuth %v, want %v", degrees(azimuth)+360, want)
	}
}

func TestQuarterMeridian(t *testing.T) {
	if got := Distance(LatLon{0, 20}, LatLon{90, 0}); math.Abs(got-10_001_965.729) > 0.01 {
		t.Fatalf("equator to pole %.3f m, want 10001965.729", got)
	}
	if got, want := Distance(LatLon{0, 179}, LatLon{0, -179}), radians(2)*semiMajor; math.Abs(got-want) > 1e-3 {
		t.Fatalf("across the antimeridian %.3f m, want %.3f", got, want)
	}
}

// An independent implementation on the sphere agrees to the flattening.
func TestDistanceNearSphere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := place(t, "a"), place(t, "b")
		sphere := orbgeo.DistanceHaversine(orb.Point{a.Lon, a.Lat}, orb.Point{b.Lon, b.Lat})
		if sphere > 19e6 {
			return
		}
		if got := Distance(a, b); math.Abs(got-sphere) > 0.008*sphere+1e-3 {
			t.Fatalf("%v to %v: %v m, on the sphere %v m", a, b, got, sphere)
		}
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(place(t, "origin"))
		if err != nil {
			t.Fatal(err)
		}
		r, a := rapid.Float64Range(0, MaxExtent*0.999).Draw(t, "r"), rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "a")
		p := field.Point{X: r * math.Sin(a), Y: r * math.Cos(a)}
		q, err := f.Local(f.Global(p))
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Dist(q); d > 1e-3 {
			t.Fatalf("%v comes back as %v, %g m off", p, q, d)
		}
	})
}

// The map never shortens a line: that is what keeps a delay bound true on the ground.
func TestMapNeverShortens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, _ := New(place(t, "origin"))
		point := func(label string) field.Point {
			r, a := rapid.Float64Range(0, 1e6).Draw(t, label+" r"), rapid.Float64Range(-math.Pi, math.Pi).Draw(t, label+" a")
			return field.Point{X: r * math.Sin(a), Y: r * math.Cos(a)}
		}
		p, q := point("p"), point("q")
		ground, plane := Distance(f.Global(p), f.Global(q)), p.Dist(q)
		if ground > plane*(1+1e-9)+1e-3 {
			t.Fatalf("%v to %v: %v m on the map but %v m on the ground", p, q, plane, ground)
		}
		if p.Dist(field.Point{}) < 1e5 && q.Dist(field.Point{}) < 1e5 && plane > ground*1.00005+1e-3 {
			t.Fatalf("%v to %v: %v m on the map, %v m on the ground", p, q, plane, ground)
		}
	})
}

func TestCentreAcrossAntimeridian(t *testing.T) {
	if got := Centre([]LatLon{{10, 179}, {10, -179}}); math.Abs(math.Abs(got.Lon)-180) > 1e-9 {
		t.Fatalf("centre %v, want longitude 180", got)
	}
	if got := Centre([]LatLon{{0, 0}, {0, 180}}); got != (LatLon{0, 0}) {
		t.Fatalf("antipodal places: %v", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		place LatLon
		want  string
	}{
		{LatLon{120, 45}, "swapped"}, {LatLon{95, 170}, "outside -90"}, {LatLon{45, 190}, "outside -180"},
		{LatLon{math.NaN(), 0}, "finite"}, {LatLon{0, math.Inf(1)}, "finite"},
	} {
		_, err := New(c.place)
		var fault *RangeError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.place, err, c.want)
		}
	}
	f, _ := New(LatLon{50, 10})
	for _, far := range []LatLon{{10, 10}, {-50, -170}, {-50, -169.9}} {
		if _, err := f.Local(far); err == nil || !strings.Contains(err.Error(), "2000 km") {
			t.Errorf("%v: %v", far, err)
		}
	}
}

func TestFrameJSON(t *testing.T) {
	f, _ := New(LatLon{51.25, -179.5})
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Frame
	if err := json.Unmarshal(text, &back); err != nil || back != *f {
		t.Fatalf("%s: %v, %v", text, back, err)
	}
	if err := json.Unmarshal([]byte(`{"lat":100,"lon":0}`), &back); err == nil {
		t.Fatal("latitude 100 was accepted")
	}
}
