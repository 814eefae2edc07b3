package survey

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

// maxGeoJSON bounds the size of a GeoJSON file in bytes.
const maxGeoJSON = 256 << 20

// feature is one GeoJSON feature (RFC 7946, section 3.2) as far as it is needed here.
type feature struct {
	Type     string          `json:"type"`
	ID       json.RawMessage `json:"id"`
	Geometry *struct {
		Type        string          `json:"type"`
		Coordinates json.RawMessage `json:"coordinates"`
	} `json:"geometry"`
	Properties struct {
		ID     json.RawMessage `json:"id"`
		Name   string          `json:"name"`
		Weight *float64        `json:"weight"`
		Energy *float64        `json:"energy"`
		Alt    *float64        `json:"alt"`
	} `json:"properties"`
}

// text is a file in memory, to turn offsets into lines and columns.
type text struct {
	file string
	data []byte
	seen int // offset up to which lines were counted: offsets are asked in rising order
	line int // number of newlines before seen
	head int // offset of the line's first byte
}

func (t *text) fault(offset int64, cause error, format string, args ...any) *Error {
	line, column := t.place(int(offset))
	return &Error{File: t.file, Line: line, Column: column, Problem: fmt.Sprintf(format, args...), Cause: cause}
}

func (t *text) place(offset int) (line, column int) {
	offset = min(offset, len(t.data))
	if offset < t.seen {
		t.seen, t.line, t.head = 0, 0, 0
	}
	for ; t.seen < offset; t.seen++ {
		if t.data[t.seen] == '\n' {
			t.line++
			t.head = t.seen + 1
		}
	}
	return t.line + 1, offset - t.head + 1
}

// eachFeature calls use with every feature of the collection and the offset at which it starts.
func eachFeature(r io.Reader, file string, use func(t *text, offset int64, f *feature) error) error {
	data, err := io.ReadAll(io.LimitReader(r, maxGeoJSON+1))
	if err != nil {
		return &Error{File: file, Problem: "cannot be read", Cause: err}
	}
	if len(data) > maxGeoJSON {
		return &Error{File: file, Problem: fmt.Sprintf("longer than %d MiB", maxGeoJSON>>20)}
	}
	t := &text{file: file, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	if at := notUTF8(t.data); at < len(t.data) {
		return t.fault(int64(at), nil, "not UTF-8: save the file with that encoding")
	}
	dec := json.NewDecoder(bytes.NewReader(t.data))
	if err := toFeatures(t, dec); err != nil {
		return err
	}
	for dec.More() {
		offset := skipSpace(t.data, dec.InputOffset())
		var f feature
		if err := dec.Decode(&f); err != nil {
			return t.jsonFault(dec, offset, err)
		}
		if f.Type != "Feature" || f.Geometry == nil {
			return t.fault(offset, nil, "not a feature with a geometry")
		}
		if err := use(t, offset, &f); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return t.jsonFault(dec, dec.InputOffset(), err)
	}
	return nil
}

// notUTF8 is the offset of the first byte that is not UTF-8, the length of the data when all is.
func notUTF8(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// toFeatures reads up to the opening bracket of the list of features.
func toFeatures(t *text, dec *json.Decoder) error {
	if token, err := dec.Token(); err != nil {
		return t.jsonFault(dec, 0, err)
	} else if token != json.Delim('{') {
		return t.fault(0, nil, "not a GeoJSON feature collection")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return t.jsonFault(dec, dec.InputOffset(), err)
		}
		if key == "features" {
			if open, err := dec.Token(); err != nil || open != json.Delim('[') {
				return t.fault(dec.InputOffset(), err, "the features are not a list")
			}
			return nil
		}
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return t.jsonFault(dec, dec.InputOffset(), err)
		}
	}
	return t.fault(0, nil, "not a GeoJSON feature collection: it has no list of features")
}

func (t *text) jsonFault(dec *json.Decoder, offset int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return t.fault(offset, nil, "%s: a %s does not belong there", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		offset = max(offset, syntax.Offset-1)
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(t.data))
	}
	return t.fault(offset, err, "not valid GeoJSON")
}

func skipSpace(data []byte, at int64) int64 {
	for at < int64(len(data)) && bytes.IndexByte([]byte(" \t\r\n,"), data[at]) >= 0 {
		at++
	}
	return at
}

// ReadGeoJSON reads sensors from the points of a GeoJSON feature collection (degrees, longitude first). The id
// is that of the feature, else the property id, else the property name; weight, energy and alt are properties, and a
// third coordinate is an altitude.
func ReadGeoJSON(r io.Reader, file string, d Defaults) (*Survey, error) {
	b := newBuilder(file, true, d)
	err := eachFeature(r, file, func(t *text, offset int64, f *feature) error {
		s, err := f.sensor(d)
		if err != nil {
			return t.fault(offset, nil, "%v", err)
		}
		line, column := t.place(int(offset))
		return b.add(s, line, column, column)
	})
	if err != nil {
		return nil, err
	}
	return b.finish()
}

func (f *feature) sensor(d Defaults) (field.Sensor, error) {
	s := field.Sensor{ID: f.name(), Weight: d.Weight, Energy: d.Energy}
	if f.Geometry.Type != "Point" {
		return s, fmt.Errorf("feature %q is a %s, not a Point", s.ID, f.Geometry.Type)
	}
	var at []float64
	if err := json.Unmarshal(f.Geometry.Coordinates, &at); err != nil || len(at) < 2 || len(at) > 3 {
		return s, fmt.Errorf("feature %q: the coordinates are not two or three numbers", s.ID)
	}
	s.Pos = field.Point{X: at[0], Y: at[1]}
	if len(at) == 3 {
		s.Alt = at[2]
	}
	for _, p := range []struct {
		given *float64
		into  *float64
		name  string
	}{{f.Properties.Weight, &s.Weight, "weight"}, {f.Properties.Energy, &s.Energy, "energy"}, {f.Properties.Alt, &s.Alt, "alt"}} {
		if p.given != nil {
			*p.into = *p.given
		}
		if p.name != "alt" && *p.into < 0 {
			return s, fmt.Errorf("feature %q: %s: %g is negative", s.ID, p.name, *p.into)
		}
	}
	return s, nil
}

func (f *feature) name() string {
	for _, raw := range []json.RawMessage{f.ID, f.Properties.ID} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var id string
		if json.Unmarshal(raw, &id) == nil {
			return id
		}
		return string(raw) // a number
	}
	return f.Properties.Name
}

// Kind says what zones do.
type Kind int

// Kinds of zones.
const (
	NoFly  Kind = iota // the sink does not cross them
	Shield             // radio does not pass through them
)

// ReadZonesFile reads the polygons in the GeoJSON file at path.
func ReadZonesFile(path string, kind Kind, frame *geo.Frame) ([]field.Obstacle, error) {
	return fromFile(path, func(r io.Reader) ([]field.Obstacle, error) { return ReadZones(r, path, kind, frame) })
}

// ReadZones reads the Polygon and MultiPolygon features of a GeoJSON feature collection: in degrees,
// longitude first, or in metres when frame is nil. One without a name gets its number. Polygons with holes are refused.
func ReadZones(r io.Reader, file string, kind Kind, frame *geo.Frame) ([]field.Obstacle, error) {
	var zones []field.Obstacle
	err := eachFeature(r, file, func(t *text, offset int64, f *feature) error {
		name := cmp.Or(f.name(), fmt.Sprint(len(zones)+1))
		polygons, err := f.polygons(name)
		if err != nil {
			return t.fault(offset, nil, "%v", err)
		}
		for _, rings := range polygons {
			ring, err := localRing(rings, frame)
			if err != nil {
				return t.fault(offset, nil, "zone %q: %v", name, err)
			}
			zones = append(zones, field.Obstacle{Name: name, Ring: ring, NoFly: kind == NoFly, Shield: kind == Shield})
		}
		return nil
	})
	return zones, err
}

func (f *feature) polygons(name string) (list [][][][]float64, err error) {
	switch f.Geometry.Type {
	case "Polygon":
		list = make([][][][]float64, 1)
		err = json.Unmarshal(f.Geometry.Coordinates, &list[0])
	case "MultiPolygon":
		err = json.Unmarshal(f.Geometry.Coordinates, &list)
	default:
		return nil, fmt.Errorf("zone %q is a %s, not a Polygon", name, f.Geometry.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("zone %q: the coordinates are not those of a %s", name, f.Geometry.Type)
	}
	return list, nil
}

func localRing(rings [][][]float64, frame *geo.Frame) ([]field.Point, error) {
	if len(rings) != 1 {
		return nil, fmt.Errorf("has %d rings: exactly one is needed, holes are not supported", len(rings))
	}
	corners := rings[0]
	if n := len(corners); n > 1 && len(corners[0]) >= 2 && len(corners[n-1]) >= 2 && corners[0][0] == corners[n-1][0] && corners[0][1] == corners[n-1][1] {
		corners = corners[:n-1]
	}
	if len(corners) < 3 {
		return nil, errors.New("has fewer than three corners")
	}
	ring := make([]field.Point, len(corners))
	for i, c := range corners {
		if len(c) < 2 || len(c) > 3 || math.IsNaN(c[0]) || math.IsNaN(c[1]) {
			return nil, fmt.Errorf("corner %d is not two or three numbers", i+1)
		}
		ring[i] = field.Point{X: c[0], Y: c[1]}
		if frame != nil {
			var err error
			if ring[i], err = frame.Local(geo.LatLon{Lat: c[1], Lon: c[0]}); err != nil {
				return nil, fmt.Errorf("corner %d: %w", i+1, err)
			}
		}
	}
	return ring, nil
}
