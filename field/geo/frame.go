package geo

import (
	"encoding/json"
	"fmt"
	"math"

	"millrace.dev/field"
)

// MaxExtent is the largest distance in metres from a frame's origin that it maps.
const MaxExtent = 2_000_000

// WGS 84.
const (
	semiMajor  = 6_378_137.0
	flattening = 1 / 298.257223563
	semiMinor  = semiMajor * (1 - flattening)
)

// LatLon is a place in degrees.
type LatLon struct {
	Lat float64 `json:"lat"` // -90 to 90, north positive
	Lon float64 `json:"lon"` // -180 to 180, east positive
}

// RangeError is a place that a frame cannot map.
type RangeError struct {
	Place   LatLon
	Problem string
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("latitude %g, longitude %g: %s", e.Place.Lat, e.Place.Lon, e.Problem)
}

// Check returns a RangeError when the place is not on the Earth, with a hint when its two
// numbers look swapped.
func (p LatLon) Check() error {
	fault := ""
	switch {
	case math.IsNaN(p.Lat) || math.IsInf(p.Lat, 0) || math.IsNaN(p.Lon) || math.IsInf(p.Lon, 0):
		fault = "not a finite number"
	case math.Abs(p.Lat) > 90 && math.Abs(p.Lat) <= 180 && math.Abs(p.Lon) <= 90:
		fault = "latitude is outside -90 to 90: are latitude and longitude swapped?"
	case math.Abs(p.Lat) > 90:
		fault = "latitude is outside -90 to 90"
	case math.Abs(p.Lon) > 180:
		fault = "longitude is outside -180 to 180"
	default:
		return nil
	}
	return &RangeError{p, fault}
}

// Frame is a local plane. Make one with New.
type Frame struct{ origin LatLon }

// New is the frame about an origin.
func New(origin LatLon) (*Frame, error) {
	if err := origin.Check(); err != nil {
		return nil, err
	}
	return &Frame{origin}, nil
}

// Centre is the middle of places on the Earth: the direction of the sum of their unit vectors. Places whose
// sum vanishes have none, and the first one is returned.
func Centre(places []LatLon) LatLon {
	var x, y, z float64
	for _, p := range places {
		lat, lon := radians(p.Lat), radians(p.Lon)
		x += math.Cos(lat) * math.Cos(lon)
		y += math.Cos(lat) * math.Sin(lon)
		z += math.Sin(lat)
	}
	if across := math.Hypot(x, y); across > 1e-9 || math.Abs(z) > 1e-9 {
		return LatLon{degrees(math.Atan2(z, across)), degrees(math.Atan2(y, x))}
	}
	if len(places) > 0 {
		return places[0]
	}
	return LatLon{}
}

// Origin is the place at (0, 0).
func (f *Frame) Origin() LatLon { return f.origin }

// Local maps a place to metres east and north of the origin.
func (f *Frame) Local(p LatLon) (field.Point, error) {
	if err := p.Check(); err != nil {
		return field.Point{}, err
	}
	dist, azimuth, ok := inverse(f.origin, p)
	if !ok || dist > MaxExtent {
		return field.Point{}, &RangeError{p, fmt.Sprintf("more than %d km from the middle of the map (latitude %.4f, longitude %.4f)",
			MaxExtent/1000, f.origin.Lat, f.origin.Lon)}
	}
	sin, cos := math.Sincos(azimuth)
	return field.Point{X: dist * sin, Y: dist * cos}, nil
}

// Global maps a point of the plane back to a place.
func (f *Frame) Global(p field.Point) LatLon {
	return direct(f.origin, math.Atan2(p.X, p.Y), math.Hypot(p.X, p.Y))
}

// Distance is the length in metres of the geodesic between two places; NaN when they are nearly antipodal.
func Distance(a, b LatLon) float64 {
	dist, _, ok := inverse(a, b)
	if !ok {
		return math.NaN()
	}
	return dist
}

// MarshalJSON writes the origin.
func (f *Frame) MarshalJSON() ([]byte, error) { return json.Marshal(f.origin) }

// UnmarshalJSON reads the origin and checks it.
func (f *Frame) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &f.origin); err != nil {
		return err
	}
	return f.origin.Check()
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
func degrees(radians float64) float64 { return radians * (180 / math.Pi) }
