package survey

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

func TestReadGeoJSON(t *testing.T) {
	text := collection(`
	{"id":"a","type":"Feature","bbox":[5,52,5,52],"geometry":{"type":"Point","coordinates":[5.0,52.0]},"properties":{"name":"third","weight":0,"energy":2.5,"alt":30}},
	{"type":"Feature","id":12,"geometry":{"coordinates":[5.01,52.01,30],"type":"Point"},"properties":{"weight":1,"energy":2.5}},
	{"type":"Feature","properties":{"name":"third","alt":30,"weight":2,"energy":2.5,"more":[{}]},"geometry":{"type":"Point","coordinates":[5.02,51.99,1]}}`)
	s, err := ReadGeoJSON(strings.NewReader(text), "f.geojson", defaults)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"a", "12", "third"} {
		got := s.Sensors[i]
		if got.ID != id || got.Weight != float64(i) || got.Energy != 2.5 || got.Alt != 30 {
			t.Errorf("%+v", got)
		}
	}
	if p := s.Frame.Global(s.Sensors[1].Pos); math.Abs(p.Lat-52.01) > 1e-9 || math.Abs(p.Lon-5.01) > 1e-9 {
		t.Errorf("comes back at %v", p)
	}
}

func collection(features string) string {
	return "{\"type\": \"FeatureCollection\",\n \"features\": [\n" + features + "]}"
}

func TestReadGeoJSONFaults(t *testing.T) {
	point := func(coordinates, properties string) string {
		return `{"type":"Feature","geometry":{"type":"Point","coordinates":` + coordinates + `},"properties":` + properties + `}`
	}
	good := point("[1,2]", `{"id":"a"}`)
	for text, want := range map[string]string{
		"[]":                        "f:1:1: not a GeoJSON feature collection",
		"{}":                        "f:1:1: not a GeoJSON feature collection: it has no list of features",
		`{"features":3}`:            "f:1:14: the features are not a list",
		collection(""):              "f: there are no sensors in it",
		collection(good + ",\n {}"): "f:4:2: not a feature with a geometry",
		collection(good + ",\n " + point("[1]", `{"id":"b"}`)):      "f:4:2: feature \"b\": the coordinates are not two or three numbers",
		collection(good + ",\n " + point(`[1,"x"]`, `{"id":"b"}`)):  "f:4:2: feature \"b\": the coordinates are not two or three numbers",
		collection(good + ",\n " + good):                            `f:4:2: the id "a" is already that of line 3`,
		collection(point("[1,2]", "{}")):                            "f:3:1: the sensor has no id",
		collection(point("[1,95]", `{"id":"a"}`)):                   `f:3:1: sensor "a": latitude 95, longitude 1: latitude is outside -90 to 90: are latitude and longitude swapped?`,
		collection(point("[1,2]", `{"id":"a","weight":-1}`)):        `f:3:1: feature "a": weight: -1 is negative`,
		collection(point("[1,2]", `{"id":"a","weight":"2"}`)):       `f:3:1: properties.weight: a string does not belong there`,
		collection(good + ",\n {]"):                                 "f:4:2: not valid GeoJSON: invalid character ']' looking for beginning of object key string",
		collection(good + ",\n \"b\xe4r\""):                         "f:4:4: not UTF-8: save the file with that encoding",
		collection(good)[:60]:                                       "f:3:16: not valid GeoJSON: unexpected EOF",
		collection(strings.Replace(good, "Point", "LineString", 1)): `f:3:1: feature "a" is a LineString, not a Point`,
	} {
		_, err := ReadGeoJSON(strings.NewReader(text), "f", defaults)
		var fault *Error
		if !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func zone(kind, coordinates string) string {
	return collection(`{"type":"Feature","geometry":{"type":"` + kind + `","coordinates":` + coordinates + `},"properties":{"name":"wood"}}`)
}

func TestReadZones(t *testing.T) {
	ring := "[[0,0],[10,0],[10,10],[0,0]]"
	got, err := ReadZones(strings.NewReader(zone("MultiPolygon", "[["+ring+"],["+ring+"]]")), "z", NoFly, nil)
	want := field.Obstacle{Name: "wood", NoFly: true, Ring: []field.Point{{X: 0, Y: 0}, {X: 10, Y: 0}, {X: 10, Y: 10}}}
	if diff := cmp.Diff([]field.Obstacle{want, want}, got); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	frame, _ := geo.New(geo.LatLon{Lat: 5, Lon: 5})
	got, err = ReadZones(strings.NewReader(zone("Polygon", "["+ring+"]")), "z", Shield, frame)
	if err != nil || !got[0].Shield || got[0].NoFly || got[0].Ring[2].Dist(field.Point{}) < 700e3 {
		t.Fatalf("%v %v", got, err)
	}
	nameless := strings.ReplaceAll(zone("Polygon", "["+ring+"]"), `"name":"wood"`, "")
	if got, err = ReadZones(strings.NewReader(nameless), "z", NoFly, nil); err != nil || got[0].Name != "1" {
		t.Errorf("%v %v", got, err)
	}
	for text, want := range map[string]string{
		zone("Polygon", "["+ring+","+ring+"]"):   `z:3:1: zone "wood": has 2 rings: exactly one is needed, holes are not supported`,
		zone("Polygon", "[[[0,0],[1,1],[0,0]]]"): `z:3:1: zone "wood": has fewer than three corners`,
		zone("Polygon", "[[[0,0],[1],[2,2]]]"):   `z:3:1: zone "wood": corner 2 is not two or three numbers`,
		zone("Polygon", "[0,0]"):                 `z:3:1: zone "wood": the coordinates are not those of a Polygon`,
		zone("Point", "[0,0]"):                   `z:3:1: zone "wood" is a Point, not a Polygon`,
	} {
		if _, err := ReadZones(strings.NewReader(text), "z", NoFly, nil); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := ReadZones(strings.NewReader(zone("Polygon", "["+strings.Replace(ring, "10,10", "10,99", 1)+"]")), "z", NoFly, frame); err == nil || !strings.Contains(err.Error(), "corner 3: latitude 99") {
		t.Errorf("%v", err)
	}
}

func FuzzReadGeoJSON(f *testing.F) {
	f.Add(collection(`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2,3]},"properties":{"weight":2}}`))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadGeoJSON(strings.NewReader(text), "f", defaults)
		var fault *Error
		switch {
		case err != nil && !errors.As(err, &fault):
			t.Fatalf("%v is not an Error", err)
		case err == nil && (len(s.Sensors) == 0 || s.Frame == nil):
			t.Fatal("nothing was read")
		}
	})
}

func FuzzReadZones(f *testing.F) {
	f.Add(zone("Polygon", "[[[0,0],[10,0],[10,10],[0,0]]]"))
	f.Add(zone("MultiPolygon", "[[[[0,0],[10,0],[10,10],[0,0]]]]"))
	f.Fuzz(func(t *testing.T, text string) {
		zones, err := ReadZones(strings.NewReader(text), "z", NoFly, nil)
		var fault *Error
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("%v is not an Error", err)
		}
		for _, z := range zones {
			if err == nil && len(z.Ring) < 3 {
				t.Fatalf("ring %v", z.Ring)
			}
		}
	})
}
