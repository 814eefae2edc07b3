package mission

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace.dev/field"
	"millrace.dev/field/geo"
	"millrace.dev/field/survey"
)

// planned is a real plan for a small made-up field.
func planned(t testing.TB, change func(*field.Instance)) *Mission {
	t.Helper()
	sensors, err := survey.Generate(survey.Field{Shape: "c", N: 120, Side: 200, Weights: "heavy", Energy: 0.5, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sensors {
		sensors[i].Alt = float64(i % 7)
	}
	in := &field.Instance{Sensors: sensors, Range: 35, Depot: &field.Point{X: -20, Y: 30}, Energy: field.CC2420(),
		Sink: field.Sink{Speed: 4, Deadline: 10 * time.Minute, Rate: 10, Hold: time.Second, Turn: 2 * time.Second, Climb: 2, Launch: 20 * time.Second}}
	if change != nil {
		change(in)
	}
	plan, err := field.Solve(context.Background(), in, field.Options{Seed: 1, Effort: -1})
	if err != nil {
		t.Fatal(err)
	}
	frame, err := geo.New(geo.LatLon{Lat: -33.5, Lon: 179.9995})
	if err != nil {
		t.Fatal(err)
	}
	return &Mission{Instance: in, Plan: plan, Frame: frame, Vehicle: Copter, Height: 40}
}

// wood is a no-fly zone in the middle of the field.
func wood(in *field.Instance) {
	in.Obstacles = []field.Obstacle{{Name: "wood", NoFly: true, Ring: []field.Point{{X: 70, Y: 70}, {X: 160, Y: 70}, {X: 160, Y: 130}, {X: 70, Y: 130}}}}
}

func TestFileLosesNothing(t *testing.T) {
	for name, m := range map[string]*Mission{"plain": planned(t, nil), "zone": planned(t, wood), "free": planned(t, func(in *field.Instance) { in.Depot = nil })} {
		if name == "plain" {
			m.Frame = nil
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&b, "plan.json")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m.Instance, back.Instance) || !reflect.DeepEqual(m.Plan, back.Plan) || !reflect.DeepEqual(m.Frame, back.Frame) ||
			m.Vehicle != back.Vehicle || m.Height != back.Height {
			t.Fatalf("%s: %s", name, cmp.Diff(m.Plan, back.Plan))
		}
	}
}

// The clock of every real tour ends at the plan's Total, and every stop is visited once.
func TestVisitsKeepThePlansTime(t *testing.T) {
	for name, change := range map[string]func(*field.Instance){
		"depot": nil, "zone": wood, "free": func(in *field.Instance) { in.Depot = nil },
		"passing": func(in *field.Instance) { in.Sink.Turn, in.Sink.Rate = 0, 0 },
		"three":   func(in *field.Instance) { in.Sinks, in.Sink.Deadline = 3, 5*time.Minute },
		"parked":  func(in *field.Instance) { in.Depot, in.Sink.Deadline, in.Range = nil, 46*time.Second, 60 },
		"buffer":  func(in *field.Instance) { in.Upload, in.Sink.Deadline = field.Buffer, 30*time.Minute },
	} {
		m := planned(t, change)
		seen := map[int]bool{}
		for i := range m.Plan.Tours {
			visits, err := m.Visits(i)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, v := range visits {
				if v.Stop >= 0 && seen[v.Stop] {
					t.Errorf("%s: stop %d twice", name, v.Stop)
				}
				seen[v.Stop] = true
			}
			if got, want := visits[len(visits)-1].Arrive, m.Plan.Tours[i].Total.Seconds(); math.Abs(got-want) > 1e-5 {
				t.Errorf("%s: tour %d ends at %.6f s, planned %.6f s", name, i, got, want)
			}
			if _, err := m.items(&m.Plan.Tours[i]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(seen) != len(m.Plan.Stops)+1 {
			t.Errorf("%s: %d of %d stops visited", name, len(seen)-1, len(m.Plan.Stops))
		}
		events, err := m.Replay()
		if err != nil {
			t.Fatal(err)
		}
		packets := 0.0
		for _, e := range events {
			packets += e.Packets
		}
		want := 0.0
		for i, s := range m.Instance.Sensors {
			if m.Plan.Parent[i] != field.NoRoute {
				want += s.Weight
			}
		}
		if packets != want {
			t.Errorf("%s: %v packets uploaded, want %v", name, packets, want)
		}
	}
}

// What an instance does not have is not in the file, and an empty list of links stays one: without it links would follow from the range.
func TestFileNamesNothingAbsent(t *testing.T) {
	m := planned(t, func(in *field.Instance) { in.Depot = nil })
	m.Frame = nil
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("null")) {
		t.Errorf("%.300s", b.String())
	}
	text, err := json.Marshal(field.Instance{Links: []field.Link{}})
	var back field.Instance
	if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || back.Links == nil {
		t.Errorf("%v, links %v", err, back.Links)
	}
}

func TestReadRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := planned(t, nil).Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for text, want := range map[string]string{
		"":                   "not a plan file",
		"{}":                 "not a plan file",
		`{"format":"other"}`: "not a plan file",
		good[:len(good)/2]:   "not a plan file",
		strings.Replace(good, `"version":1`, `"version":2`, 1):               "version 2",
		strings.Replace(good, `"vehicle":"copter"`, `"vehicle":"tank00"`, 1): "checksum",
	} {
		_, err := Read(strings.NewReader(text), "p.json")
		var fault *FileError
		if !errors.As(err, &fault) || !fault.BadInput() || !strings.HasPrefix(err.Error(), "p.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	for name, spoil := range map[string]func(*Mission){
		"vehicle": func(m *Mission) { m.Vehicle = "tank" }, "plan": func(m *Mission) { m.Plan = nil }, "loop": func(m *Mission) { m.Plan.Parent[0] = 0; m.Plan.Stop[0] = -1 },
		"index": func(m *Mission) { m.Plan.Parent[0] = 1e6 }, "weight": func(m *Mission) { m.Instance.Sensors[0].Weight = -1 },
		"deadline": func(m *Mission) { m.Instance.Sink.Deadline /= 100 }, "frame": func(m *Mission) { *m.Frame = geo.Frame{} },
	} {
		m := planned(t, nil)
		spoil(m)
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		_, err := Read(&b, "p.json")
		if (err == nil) != (name == "frame") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "vehicle" && !strings.Contains(err.Error(), `"tank" is none of copter, plane, rover, boat`) {
			t.Error(err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestWriteDir(t *testing.T) {
	m := planned(t, func(in *field.Instance) { in.Sinks, in.Sink.Deadline = 2, 5*time.Minute })
	dir := t.TempDir()
	names, err := m.WriteDir(dir)
	want := []string{"plan.json", "routes.csv", "routes.h", "collection.jsonl", "plan.geojson", "plan.kml", "plan.gpx",
		"mission-1.plan", "mission-1.waypoints", "mission-2.plan", "mission-2.waypoints"}
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if back, err := Open(filepath.Join(dir, "plan.json")); err != nil || !reflect.DeepEqual(back.Plan, m.Plan) {
		t.Errorf("%v", err)
	}
	m.Frame = nil
	if names, err = m.WriteDir(t.TempDir()); err != nil || len(names) != 4 {
		t.Errorf("%v %v", names, err)
	}
}

// writesEverything writes a verified mission in every format. Only the autopilots' files may refuse it, and only because of
// waits that are not whole seconds.
func writesEverything(t *testing.T, m *Mission) {
	t.Helper()
	for _, o := range m.outputs() {
		err := o.write(io.Discard)
		var wait *WaitError
		if errors.As(err, &wait) && strings.HasPrefix(o.name, "mission") && m.Plan.Stops[wait.Stop].Dwell%time.Second != 0 {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
	}
}

// Files with a right checksum but any content.
func FuzzRead(f *testing.F) {
	body, err := json.Marshal(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	if body, err = json.Marshal(waitsExactly(f)); err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) {
		var plain bytes.Buffer
		if json.Compact(&plain, body) != nil {
			return
		}
		sum := sha256.Sum256(plain.Bytes())
		text, err := json.Marshal(envelope{fileFormat, fileVersion, hex.EncodeToString(sum[:]), body})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read(bytes.NewReader(text), "p.json")
		var fault *FileError
		if err != nil {
			if !errors.As(err, &fault) {
				t.Fatalf("%v is not a FileError", err)
			}
			return
		}
		writesEverything(t, m)
	})
}

// What passes verify can be written in every format.
func FuzzVerified(f *testing.F) {
	f.Add(uint8(0), int64(1), 2.5)
	f.Fuzz(func(t *testing.T, which uint8, whole int64, real float64) {
		if math.IsNaN(real) || math.IsInf(real, 0) {
			return // no file holds one
		}
		m := sample(t)
		p := m.Plan
		i := int(uint64(whole) % 6)
		switch which % 12 {
		case 0:
			p.Parent[i] = int32(whole >> 8)
		case 1:
			p.Stop[i] = int32(whole >> 8)
		case 2:
			p.Load[i] = real
		case 3:
			p.Stops[i%2].Pos.X = real
		case 4:
			p.Stops[i%2].Uploaders = append(p.Stops[i%2].Uploaders, int32(whole>>8))
		case 5:
			p.Tours[0].Stops = append(p.Tours[0].Stops, int32(whole>>8))
		case 6:
			p.Tours[0].Path = p.Tours[0].Path[:i%5]
		case 7:
			p.Unserved = append(p.Unserved, field.Unserved{Sensor: int(whole >> 8), Reason: "x"})
		case 8:
			p.Tours[0].Path[i%5].Y = real
		case 9:
			p.Stops[i%2].Alt = real
		case 10:
			p.Parent = p.Parent[:i]
		case 11:
			m.Instance.Sensors[i].Pos.X = real
		}
		if m.verify() != nil {
			return
		}
		writesEverything(t, m)
	})
}

// A plan whose waits are not whole seconds is written in all formats but the autopilots'.
func TestBrokenSecondsAreNotFlown(t *testing.T) {
	m := waitsExactly(t)
	if err := m.verify(); err != nil {
		t.Fatal(err)
	}
	for _, write := range []func(io.Writer, int) error{m.WritePlanFile, m.WriteWaypoints} {
		var wait *WaitError
		if err := write(io.Discard, 0); !errors.As(err, &wait) || wait.Stop != 0 || wait.Dwell != 500*time.Millisecond || !wait.BadInput() {
			t.Errorf("%v", err)
		}
	}
	writesEverything(t, m)
}

func TestSampleIsAPlan(t *testing.T) {
	if err := sample(t).verify(); err != nil {
		t.Fatal(err)
	}
}
