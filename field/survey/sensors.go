package survey

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

// maxSensors bounds the number of sensors in a file.
const maxSensors = 1 << 24

// Survey is what a file says about the sensors.
type Survey struct {
	Sensors []field.Sensor
	Frame   *geo.Frame // the plane of the positions; nil when the file is in metres and no origin was given
	Degrees bool       // the file is in latitude and longitude
	Notes   []string   // remarks for people, in no order that matters
}

// Defaults fill what a file leaves out.
type Defaults struct {
	Weight float64     // packets a round
	Energy float64     // joules
	Origin *geo.LatLon // where (0, 0) of a file in metres lies; nil when unknown
}

// Read reads the file at path: GeoJSON when its name ends in .json or .geojson, else CSV.
func Read(path string, d Defaults) (*Survey, error) {
	read := ReadCSV
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".json" || ext == ".geojson" {
		read = ReadGeoJSON
	}
	return fromFile(path, func(r io.Reader) (*Survey, error) { return read(r, path, d) })
}

func fromFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	file, err := os.Open(path)
	if err != nil {
		var none T
		return none, &Error{File: path, Problem: "cannot be opened", Cause: errors.Unwrap(err)}
	}
	defer file.Close()
	return read(file)
}

// ReadCSV reads sensors from separated values; file is the name used in errors.
func ReadCSV(r io.Reader, file string, d Defaults) (*Survey, error) {
	t, err := newTable(r, file)
	if err != nil {
		return nil, err
	}
	c, err := columnsOf(t)
	if err != nil {
		return nil, err
	}
	b := newBuilder(file, c.degrees, d)
	for {
		if err := t.next(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		s, err := c.sensor(t, d)
		if err != nil {
			return nil, err
		}
		if err := b.add(s, t.line, t.cells[c.id].column, t.cells[c.east].column); err != nil {
			return nil, err
		}
	}
	b.note(ignored(t, c))
	return b.finish()
}

// columns are the positions of the columns that mean something; -1 for one that is not there.
type columns struct {
	id, east, north, weight, energy, alt int
	degrees                              bool
}

func columnsOf(t *table) (columns, error) {
	c := columns{id: t.column("id"), weight: t.column("weight"), energy: t.column("energy"), alt: t.column("alt", "altitude")}
	x, y := t.column("x"), t.column("y")
	lat, lon := t.column("lat", "latitude"), t.column("lon", "lng", "longitude")
	metres, degrees := x >= 0 && y >= 0, lat >= 0 && lon >= 0
	switch {
	case c.id < 0:
		return c, t.fault(0, "no column is named id; the columns are %s", strings.Join(t.names, ", "))
	case metres && degrees:
		return c, t.fault(0, "the columns give both x,y and lat,lon: keep one pair")
	case !metres && !degrees:
		return c, t.fault(0, "the columns x,y (metres) or lat,lon (degrees) are needed; the columns are %s", strings.Join(t.names, ", "))
	}
	c.degrees, c.east, c.north = degrees, x, y
	if degrees {
		c.east, c.north = lon, lat
	}
	return c, nil
}

// sensor reads the current line; degrees stay in Pos until the frame is known.
func (c columns) sensor(t *table, d Defaults) (s field.Sensor, err error) {
	value := func(column int, fallback float64) (v float64) {
		if v = fallback; column >= 0 && err == nil {
			v, err = t.number(column, fallback)
		}
		return v
	}
	s.ID = strings.Clone(t.text(c.id))
	s.Pos = field.Point{X: value(c.east, math.NaN()), Y: value(c.north, math.NaN())}
	s.Weight, s.Energy, s.Alt = value(c.weight, d.Weight), value(c.energy, d.Energy), value(c.alt, 0)
	switch {
	case err != nil:
	case s.Weight < 0:
		err = t.fault(t.cells[c.weight].column, "weight: %g is negative", s.Weight)
	case s.Energy < 0:
		err = t.fault(t.cells[c.energy].column, "energy: %g is negative", s.Energy)
	}
	return s, err
}

func ignored(t *table, c columns) string {
	var names []string
	for i, name := range t.names {
		if name != "" && !slices.Contains([]int{c.id, c.east, c.north, c.weight, c.energy, c.alt}, i) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s: columns without a meaning here were ignored: %s", t.file, strings.Join(names, ", "))
}

// builder collects sensors and sees to it that ids are unique and places are on the Earth.
type builder struct {
	Survey
	file     string
	defaults Defaults
	lines    []int32 // of each sensor
	columns  []int32 // of each sensor's position
	byID     map[string]int32
}

func newBuilder(file string, degrees bool, d Defaults) *builder {
	return &builder{Survey: Survey{Degrees: degrees}, file: file, defaults: d, byID: map[string]int32{}}
}

func (b *builder) add(s field.Sensor, line, idColumn, column int) error {
	fault := func(column int, format string, args ...any) error {
		return &Error{File: b.file, Line: line, Column: column, Problem: fmt.Sprintf(format, args...)}
	}
	if s.ID == "" {
		return fault(idColumn, "the sensor has no id")
	}
	if earlier, found := b.byID[s.ID]; found {
		return fault(idColumn, "the id %q is already that of line %d", s.ID, b.lines[earlier])
	}
	if len(b.Sensors) == maxSensors {
		return fault(0, "more than %d sensors", maxSensors)
	}
	if b.Degrees {
		if err := (geo.LatLon{Lat: s.Pos.Y, Lon: s.Pos.X}).Check(); err != nil {
			return &Error{File: b.file, Line: line, Column: column, Problem: fmt.Sprintf("sensor %q", s.ID), Cause: err}
		}
	}
	b.byID[s.ID] = int32(len(b.Sensors))
	b.Sensors = append(b.Sensors, s)
	b.lines, b.columns = append(b.lines, int32(line)), append(b.columns, int32(column))
	return nil
}

func (b *builder) note(text string) {
	if text != "" {
		b.Notes = append(b.Notes, text)
	}
}

// finish brings the positions into the frame.
func (b *builder) finish() (*Survey, error) {
	if len(b.Sensors) == 0 {
		return nil, &Error{File: b.file, Problem: "there are no sensors in it"}
	}
	if err := b.project(); err != nil {
		return nil, err
	}
	b.note(b.shared())
	return &b.Survey, nil
}

func (b *builder) project() (err error) {
	if !b.Degrees {
		if b.defaults.Origin != nil {
			b.Frame, err = geo.New(*b.defaults.Origin)
		}
		return err
	}
	places := make([]geo.LatLon, len(b.Sensors))
	for i := range places {
		places[i] = geo.LatLon{Lat: b.Sensors[i].Pos.Y, Lon: b.Sensors[i].Pos.X}
	}
	if b.Frame, err = geo.New(geo.Centre(places)); err != nil {
		return err
	}
	for i, place := range places {
		if b.Sensors[i].Pos, err = b.Frame.Local(place); err != nil {
			return &Error{File: b.file, Line: int(b.lines[i]), Column: int(b.columns[i]), Problem: fmt.Sprintf("sensor %q", b.Sensors[i].ID), Cause: err}
		}
	}
	return nil
}

// shared remarks on sensors at one and the same place.
func (b *builder) shared() string {
	first := make(map[field.Point]int32, len(b.Sensors))
	count, example := 0, ""
	for i := range b.Sensors {
		pos := b.Sensors[i].Pos
		earlier, found := first[pos]
		if !found {
			first[pos] = int32(i)
			continue
		}
		if count++; count == 1 {
			example = fmt.Sprintf("%q (line %d) and %q (line %d)", b.Sensors[earlier].ID, b.lines[earlier], b.Sensors[i].ID, b.lines[i])
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s at the place of another one, such as %s", b.file, plural(count, "sensor"), example)
}
