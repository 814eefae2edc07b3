package mission

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

type testFeature struct {
	Type     string
	Geometry struct {
		Type        string
		Coordinates json.RawMessage
	}
	Properties map[string]any
}

func readGeoJSON(t *testing.T, m *Mission) []testFeature {
	t.Helper()
	var b bytes.Buffer
	if err := m.WriteGeoJSON(&b); err != nil {
		t.Fatal(err)
	}
	var fc struct {
		Type     string
		Features []testFeature
	}
	if err := json.Unmarshal(b.Bytes(), &fc); err != nil || fc.Type != "FeatureCollection" {
		t.Fatalf("%v: %s", err, b.String())
	}
	return fc.Features
}

func TestGeoJSON(t *testing.T) {
	m := sample(t)
	count := map[string]int{}
	for _, f := range readGeoJSON(t, m) {
		kind := f.Properties["kind"].(string)
		i := count[kind]
		count[kind]++
		if f.Type != "Feature" {
			t.Fatal(f)
		}
		switch kind {
		case "sensor":
			var at []float64
			json.Unmarshal(f.Geometry.Coordinates, &at)
			back, err := m.Frame.Local(geo.LatLon{Lat: at[1], Lon: at[0]})
			if err != nil || back.Dist(m.Instance.Sensors[i].Pos) > 0.02 || f.Properties["load"] != m.Plan.Load[i] {
				t.Errorf("sensor %d at %v: %v", i, at, err)
			}
			if reason, unserved := f.Properties["unserved"]; unserved != (i == 5) || unserved && reason != string(field.NoEnergy) {
				t.Errorf("sensor %d: %v", i, f.Properties)
			}
		case "stop":
			want := [][]any{{"a,1", `b"<&>`, "ü"}, {"s3", "s4"}}[i]
			if got := f.Properties["serves"].([]any); len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
				t.Errorf("stop %d serves %v", i, got)
			}
		case "tour":
			if f.Geometry.Type != "LineString" || f.Properties["total_s"] != m.Plan.Tours[0].Total.Seconds() {
				t.Errorf("%v", f)
			}
		}
	}
	if count["sensor"] != 6 || count["link"] != 4 || count["stop"] != 2 || count["tour"] != 1 {
		t.Errorf("features %v", count)
	}
}

func TestGeoJSONCutsAtAntimeridian(t *testing.T) {
	m := sample(t)
	m.Frame, _ = geo.New(geo.LatLon{Lat: 10, Lon: 179.999})
	for _, f := range readGeoJSON(t, m) {
		if f.Properties["kind"] != "tour" {
			continue
		}
		if f.Geometry.Type != "MultiLineString" {
			t.Fatalf("the tour is a %s", f.Geometry.Type)
		}
		var parts [][][2]float64
		if err := json.Unmarshal(f.Geometry.Coordinates, &parts); err != nil {
			t.Fatal(err)
		}
		for i, part := range parts {
			for k := range part[1:] {
				if math.Abs(part[k+1][0]-part[k][0]) > 1 {
					t.Fatalf("part %d jumps: %v", i, part)
				}
			}
			if i > 0 {
				end, begin := parts[i-1][len(parts[i-1])-1], part[0]
				if math.Abs(end[0]) != 180 || begin[0] != -end[0] || begin[1] != end[1] {
					t.Fatalf("cut at %v and %v", end, begin)
				}
			}
		}
	}
}

// wellFormed reads XML to its end and counts elements.
func wellFormed(t *testing.T, text string) map[string]int {
	t.Helper()
	count := map[string]int{}
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Space+" "+start.Name.Local]++
		}
	}
}

func TestKMLAndGPX(t *testing.T) {
	m := sample(t)
	var kml, gpx bytes.Buffer
	if err := errors.Join(m.WriteKML(&kml), m.WriteGPX(&gpx)); err != nil {
		t.Fatal(err)
	}
	k := wellFormed(t, kml.String())
	if ns := "http://www.opengis.net/kml/2.2 "; k[ns+"Placemark"] != 9 || k[ns+"LineString"] != 1 || k[ns+"Point"] != 8 {
		t.Errorf("KML: %v", k)
	}
	g := wellFormed(t, gpx.String())
	if ns := "http://www.topografix.com/GPX/1/1 "; g[ns+"wpt"] != 2 || g[ns+"rtept"] != 5 {
		t.Errorf("GPX: %v", g)
	}
	var read struct {
		Points []struct {
			Lat  float64 `xml:"lat,attr"`
			Lon  float64 `xml:"lon,attr"`
			Name string  `xml:"name"`
		} `xml:"wpt"`
	}
	if err := xml.Unmarshal(gpx.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	for i, p := range read.Points {
		back, err := m.Frame.Local(geo.LatLon{Lat: p.Lat, Lon: p.Lon})
		if err != nil || back.Dist(m.Plan.Stops[i].Pos) > 0.02 || p.Name != "Stop "+strconv.Itoa(i+1) {
			t.Errorf("%v: %v", p, err)
		}
	}
}
