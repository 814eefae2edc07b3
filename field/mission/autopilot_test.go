package mission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

// command is a mission item as a test reads it back.
type command struct {
	seq, command, frame int
	params              [4]float64
	lat, lon, alt       float64
}

// readPlanFile reads a QGroundControl plan strictly: every rule of the format that ground stations trip over.
func readPlanFile(t *testing.T, text []byte) (home [3]float64, list []command) {
	t.Helper()
	var f struct {
		FileType string
		Version  int
		Mission  struct {
			Version             int
			PlannedHomePosition []float64
			CruiseSpeed         *float64
			HoverSpeed          *float64
			FirmwareType        *int
			VehicleType         *int
			Items               []map[string]any
		}
		GeoFence    struct{ Version int }
		RallyPoints struct{ Version int }
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	m := f.Mission
	if f.FileType != "Plan" || f.Version != 1 || m.Version != 2 || f.GeoFence.Version != 2 || f.RallyPoints.Version != 2 ||
		len(m.PlannedHomePosition) != 3 || m.CruiseSpeed == nil || m.HoverSpeed == nil || m.FirmwareType == nil || m.VehicleType == nil {
		t.Fatalf("head of the plan: %s", text[:min(len(text), 600)])
	}
	for i, it := range m.Items {
		if it["type"] != "SimpleItem" || it["autoContinue"] != true || it["doJumpId"] != float64(i+1) {
			t.Fatalf("item %d: %v", i, it)
		}
		c := command{seq: i + 1, command: int(it["command"].(float64)), frame: int(it["frame"].(float64))}
		params := it["params"].([]any)
		if len(params) != 7 {
			t.Fatalf("item %d has %d params", i, len(params))
		}
		for k, v := range params {
			number, isNumber := v.(float64)
			if !isNumber && (k != 3 || c.command != cmdTakeoff && c.command != cmdWaypoint) {
				t.Fatalf("item %d: parameter %d is %v", i, k+1, v)
			}
			switch {
			case k < 4 && isNumber:
				c.params[k] = number
			case k < 4:
				c.params[k] = math.NaN()
			case k == 4:
				c.lat = number
			case k == 5:
				c.lon = number
			case k == 6:
				c.alt = number
			}
		}
		if c.frame == frameRelative && (it["Altitude"] != c.alt || it["AltitudeMode"] != 1.0) {
			t.Fatalf("item %d: altitude %v %v beside %v", i, it["Altitude"], it["AltitudeMode"], c.alt)
		}
		list = append(list, c)
	}
	return [3]float64(m.PlannedHomePosition), list
}

// readWaypoints reads "QGC WPL 110" text strictly.
func readWaypoints(t *testing.T, text string) (list []command) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "QGC WPL 110" {
		t.Fatalf("first line %q", lines[0])
	}
	current := 0
	for i, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != 12 || cells[11] != "1" {
			t.Fatalf("line %q", line)
		}
		var v [11]float64
		for k := range v {
			var err error
			if v[k], err = strconv.ParseFloat(cells[k], 64); err != nil || math.IsNaN(v[k]) {
				t.Fatalf("line %q: %v", line, err)
			}
		}
		if v[0] != float64(i) {
			t.Fatalf("sequence number %v in line %d", v[0], i)
		}
		current += int(v[1])
		list = append(list, command{seq: i, command: int(v[3]), frame: int(v[2]), params: [4]float64(v[4:8]), lat: v[8], lon: v[9], alt: v[10]})
	}
	if current != 1 {
		t.Fatalf("%d current items", current)
	}
	return list
}

func TestPlanFileAndWaypointsAgree(t *testing.T) {
	for _, vehicle := range Vehicles {
		m := sample(t)
		m.Vehicle = vehicle
		var plan, text bytes.Buffer
		if err := errors.Join(m.WritePlanFile(&plan, 0), m.WriteWaypoints(&text, 0)); err != nil {
			t.Fatal(err)
		}
		home, items := readPlanFile(t, plan.Bytes())
		lines := readWaypoints(t, text.String())
		if first := lines[0]; first.lat != home[0] || first.lon != home[1] || first.alt != home[2] || home[2] != 5 {
			t.Fatalf("home %v, first line %v", home, first)
		}
		if len(lines) != len(items)+1 {
			t.Fatalf("%d items, %d lines", len(items), len(lines))
		}
		for i, it := range items {
			if math.IsNaN(it.params[3]) {
				it.params[3] = 0
			}
			if it != lines[i+1] {
				t.Errorf("%s: item %+v, line %+v", vehicle, it, lines[i+1])
			}
		}
		checkSample(t, m, items)
	}
}

// checkSample compares the items with what the sample says.
func checkSample(t *testing.T, m *Mission, items []command) {
	t.Helper()
	hold, height := cmdWaypoint, 30.0
	var want []string
	switch m.Vehicle {
	case Plane:
		hold = cmdLoiterTime
		fallthrough
	case Copter:
		want = append(want, fmt.Sprint(cmdTakeoff, 0, 30))
	default:
		height = 0
	}
	want = append(want, fmt.Sprint(cmdChangeSpeed, 1, 0), fmt.Sprint(hold, 1, height+5), fmt.Sprint(cmdWaypoint, 0, height+5),
		fmt.Sprint(hold, 1, height-5), fmt.Sprint(cmdReturn, 0, 0))
	var got []string
	for _, it := range items {
		got = append(got, fmt.Sprint(it.command, it.params[0], it.alt))
		if it.command == cmdChangeSpeed && it.params != [4]float64{1, 5, -1, 0} {
			t.Errorf("speed %v", it.params)
		}
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("%s:\n got %v\nwant %v", m.Vehicle, got, want)
	}
}

// What a .plan says, flown literally over the ground, takes the time that the plan promises.
func TestFlownTime(t *testing.T) {
	m := sample(t)
	var plan bytes.Buffer
	if err := m.WritePlanFile(&plan, 0); err != nil {
		t.Fatal(err)
	}
	home, items := readPlanFile(t, plan.Bytes())
	at, alt, seconds := geo.LatLon{Lat: home[0], Lon: home[1]}, items[0].alt, 0.0
	for _, it := range items[1:] {
		to := geo.LatLon{Lat: it.lat, Lon: it.lon}
		switch it.command {
		case cmdReturn:
			to, it.alt = geo.LatLon{Lat: home[0], Lon: home[1]}, items[0].alt
		case cmdChangeSpeed:
			continue
		case cmdWaypoint:
			if it.params[0] > 0 {
				seconds += it.params[0] + 3
			}
		}
		seconds += geo.Distance(at, to)/5 + math.Abs(it.alt-alt)/2
		at, alt = to, it.alt
	}
	seconds += 10
	want := m.Plan.Tours[0].Total.Seconds()
	if math.Abs(seconds-want) > 0.05 {
		t.Fatalf("flown in %.3f s, planned %.3f s", seconds, want)
	}
}

func TestBrokenSecondsAreRefused(t *testing.T) {
	m := sample(t)
	m.Plan.Stops[1].Dwell /= 4
	if _, err := m.items(&m.Plan.Tours[0]); err == nil || !strings.Contains(err.Error(), "stop 2 waits 250ms") {
		t.Fatal(err)
	}
}

func TestMissionNeedsFrame(t *testing.T) {
	m := sample(t)
	m.Frame = nil
	var b bytes.Buffer
	for name, err := range map[string]error{"plan": m.WritePlanFile(&b, 0), "waypoints": m.WriteWaypoints(&b, 0), "geojson": m.WriteGeoJSON(&b),
		"kml": m.WriteKML(&b), "gpx": m.WriteGPX(&b)} {
		if !errors.Is(err, ErrNoFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFreeStartHoldsAtItsFirstStop(t *testing.T) {
	m := sample(t)
	m.Instance.Depot = nil
	tour := &m.Plan.Tours[0]
	tour.Path = append(append([]field.Point(nil), tour.Path[1:4]...), tour.Path[1])
	items, err := m.items(tour)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 6 || items[2].params[0] != 1 || items[2].place != items[0].place || items[4].params[0] != 1 {
		t.Fatalf("%+v", items)
	}
}

func TestPathMustPassItsStops(t *testing.T) {
	m := sample(t)
	m.Plan.Tours[0].Path[3].X += 9
	if _, err := m.items(&m.Plan.Tours[0]); err == nil || !strings.Contains(err.Error(), "stop 2") {
		t.Fatal(err)
	}
	m.Plan.Tours[0].Path = nil
	if _, err := m.items(&m.Plan.Tours[0]); err == nil {
		t.Fatal("a tour without a path was accepted")
	}
}

// A real mission, flown literally with its whole seconds of waiting, keeps the deadline and waits where and as long as the plan says.
func TestFlownWithinDeadline(t *testing.T) {
	for name, change := range map[string]func(*field.Instance){"plain": nil, "zone": wood, "free": func(in *field.Instance) { in.Depot = nil }} {
		m := planned(t, change)
		sink := m.Instance.Sink
		items, err := m.items(&m.Plan.Tours[0])
		if err != nil {
			t.Fatal(err)
		}
		at, alt, holds, waits := items[0].place, items[0].alt, 0, 0.0
		seconds := sink.Launch.Seconds()
		for _, it := range append(items[1:], item{command: cmdWaypoint, place: items[0].place, alt: items[0].alt}) {
			if it.command != cmdWaypoint {
				continue
			}
			if it.params[0] > 0 {
				holds++
				waits += it.params[0]
				seconds += it.params[0] + sink.Turn.Seconds()
			}
			seconds += geo.Distance(at, it.place)/sink.Speed + math.Abs(it.alt-alt)/sink.Climb
			at, alt = it.place, it.alt
		}
		tour := &m.Plan.Tours[0]
		if math.Abs(seconds-tour.Total.Seconds()) > 0.1 || tour.Total > sink.Deadline || holds != len(m.Plan.Stops) || waits != tour.Dwell.Seconds() {
			t.Errorf("%s: flown in %.1f s with %d waits of %g s, %v allowed and planned %v with %d stops and %v of waiting",
				name, seconds, holds, waits, sink.Deadline, tour.Total, len(m.Plan.Stops), tour.Dwell)
		}
	}
}
