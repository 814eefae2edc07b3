package survey

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

var defaults = Defaults{Weight: 1, Energy: 0.5}

func TestReadCSVDialects(t *testing.T) {
	want := []field.Sensor{
		{ID: "a", Pos: field.Point{X: 1.5, Y: -2}, Weight: 3, Energy: 0.25, Alt: 7},
		{ID: "b", Pos: field.Point{X: 10, Y: 20}, Weight: 1, Energy: 0.5},
	}
	for name, text := range map[string]string{
		"plain":            "id,x,y,weight,energy,alt\na,1.5,-2,3,0.25,7\nb,10,20,,,\n",
		"order and case":   "Y, X ,ID,ALT,Weight,Energy\n-2,1.5,a,7,3,0.25\n20,10,b,,,",
		"mark and crlf":    "\ufeffid,x,y,weight,energy,alt\r\na,1.5,-2,3,0.25,7\r\n\r\nb,10,20,,,\r\n",
		"semicolons":       "id;x;y;weight;energy;alt\na;1,5;-2;3;0,25;7\nb;10;20;;;\n",
		"semicolon points": "id;x;y;weight;energy;alt\na;1.5;-2;3;0.25;7\nb;10;20;;;\n",
		"tabs":             "id\tx\ty\tweight\tenergy\talt\na\t1.5\t-2\t3\t0.25\t7\nb\t10\t20\t\t\t\n",
		"quotes":           "\"id\",x,y,weight,energy,alt\n\"a\",\"1.5\",-2,3,0.25,7\n\"b\",10,20,,,\n",
	} {
		s, err := ReadCSV(strings.NewReader(text), "f.csv", defaults)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, s.Sensors); diff != "" || s.Notes != nil || s.Frame != nil || s.Degrees {
			t.Errorf("%s: %s, notes %v, frame %v", name, diff, s.Notes, s.Frame)
		}
	}
}

func TestReadCSVFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "f.csv: the file is empty",
		"id,x,y\n":                            "f.csv: there are no sensors in it",
		"1,2,3\n":                             `f.csv:1:1: the first line must name the columns, such as id,x,y or id,lat,lon; it holds the number "1"`,
		"id,x,x\n":                            `f.csv:1:6: the column "x" is there twice`,
		"name,x,y\na,1,2\n":                   "f.csv:1: no column is named id; the columns are name, x, y",
		"id,x,y,lat,lon\n":                    "f.csv:1: the columns give both x,y and lat,lon: keep one pair",
		"id,x,lon\n":                          "f.csv:1: the columns x,y (metres) or lat,lon (degrees) are needed; the columns are id, x, lon",
		"id,x,y\na,1,2\nb,1\n":                "f.csv:3: the line has 2 values, the header has 3",
		"id,x,y\na,1,2\n\nb,1,q\n":            `f.csv:4:5: y: "q" is not a finite number`,
		"id,x,y\na,NaN,2\n":                   `f.csv:2:3: x: "NaN" is not a finite number`,
		"id,x,y\na,1,1e999\n":                 `f.csv:2:5: y: "1e999" is not a finite number`,
		"id,x,y\na,,2\n":                      `f.csv:2:3: x: "" is not a finite number`,
		"id,x,y\n ,1,2\n":                     "f.csv:2:1: the sensor has no id",
		"id,x,y\na,1,2\nb,2,3\na,4,5\n":       `f.csv:4:1: the id "a" is already that of line 2`,
		"id,x,y,weight\na,1,2,-1\n":           "f.csv:2:7: weight: -1 is negative",
		"id,x,y,energy\na,1,2,-1\n":           "f.csv:2:7: energy: -1 is negative",
		"id,x,y\n\"a,1,2\n":                   "f.csv:2:1: the quotes do not close before the next ',' or the end of the line",
		"id,x,y\n\"a\"b,1,2\n":                "f.csv:2:1: the quotes do not close before the next ',' or the end of the line",
		"id,x,y\nb\xe4r,1,2\n":                "f.csv:2: the line is not UTF-8: save the file with that encoding",
		"lat,lon,id\n120.5,45,a\n":            `f.csv:2:7: sensor "a": latitude 120.5, longitude 45: latitude is outside -90 to 90: are latitude and longitude swapped?`,
		"id,lat,lon\na,45,181\n":              `f.csv:2:6: sensor "a": latitude 45, longitude 181: longitude is outside -180 to 180`,
		"id,lat,lon\na,45,8\nb,45,90\n":       `f.csv:2:6: sensor "a": latitude 45, longitude 8: more than 2000 km from the middle of the map (latitude 52.9578, longitude 49.0000)`,
		"id,x,y\n" + strings.Repeat("x", 7e4): "f.csv:2: the line is longer than 65536 bytes",
	} {
		_, err := ReadCSV(strings.NewReader(text), "f.csv", defaults)
		var fault *Error
		if !errors.As(err, &fault) || !fault.BadInput() {
			t.Errorf("%.60q: %v is not an Error", text, err)
			continue
		}
		if column := strings.Contains(text, "lat,lon,id"); err.Error() != want && !column {
			t.Errorf("%.60q:\n got %v\nwant %s", text, err, want)
		} else if column && !strings.HasSuffix(err.Error(), "swapped?") {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func TestNotes(t *testing.T) {
	s, err := ReadCSV(strings.NewReader("id,x,y,colour\na,1,2,red\nb,1,2,blue\nc,1,2,\n"), "f.csv", defaults)
	want := []string{"f.csv: columns without a meaning here were ignored: colour",
		`f.csv: 2 sensors at the place of another one, such as "a" (line 2) and "b" (line 3)`}
	if err != nil || cmp.Diff(want, s.Notes) != "" {
		t.Fatalf("%v, %q", err, s.Notes)
	}
}

func TestDegreesAcrossAntimeridian(t *testing.T) {
	s, err := ReadCSV(strings.NewReader("id,lat,lon\na,0,179.999\nb,0,-179.999\n"), "f.csv", defaults)
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Sensors[0].Pos.Dist(s.Sensors[1].Pos); math.Abs(d-222.639) > 0.01 {
		t.Fatalf("distance %v m, want 222.639", d)
	}
	if back := s.Frame.Global(s.Sensors[1].Pos); math.Abs(back.Lon+179.999) > 1e-9 {
		t.Fatalf("comes back at %v", back)
	}
}

func TestOriginOfMetres(t *testing.T) {
	d := defaults
	d.Origin = &geo.LatLon{Lat: 52, Lon: 5}
	s, err := ReadCSV(strings.NewReader("id,x,y\na,0,0\n"), "f.csv", d)
	if err != nil || s.Frame == nil || s.Frame.Global(s.Sensors[0].Pos) != *d.Origin {
		t.Fatalf("%v, %v", s, err)
	}
}

// A million lines with one fault in the last but one.
func TestLongFileWithOneBadLine(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 20_000
	}
	var b bytes.Buffer
	b.WriteString("id,x,y\n")
	for i := range n {
		if i == n-2 {
			b.WriteString("bad,12,o\n")
			continue
		}
		fmt.Fprintf(&b, "%d,%d,%d\n", i, i%1000, i/1000)
	}
	_, err := ReadCSV(&b, "long.csv", defaults)
	if want := fmt.Sprintf(`long.csv:%d:8: y: "o" is not a finite number`, n); err == nil || err.Error() != want {
		t.Fatalf("%v, want %s", err, want)
	}
}

func TestReadLinks(t *testing.T) {
	sensors := []field.Sensor{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	links, err := ReadLinks(strings.NewReader("a;b;etx\na;b;1,5\nb;c;\nb;a;2\n"), "l.csv", sensors)
	want := []field.Link{{A: 0, B: 1, ETX: 2}, {A: 1, B: 2, ETX: 1}}
	if diff := cmp.Diff(want, links); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	for text, want := range map[string]string{
		"from,to\n":              "l.csv:1: the columns a and b (ids of sensors) are needed, and etx if it was measured",
		"a,b\na,z\n":             `l.csv:2:3: no sensor has the id "z"`,
		"a,b\na,a\n":             `l.csv:2:3: the link joins "a" with itself`,
		"a,b,etx\na,b,0.5\n":     "l.csv:2:5: etx: 0.5 is below 1",
		"a,b,etx\na,b,x\n":       `l.csv:2:5: etx: "x" is not a finite number`,
		"a,b\na,b\nb,a\nb,a\n":   `l.csv:4:1: the link from "b" to "a" is already in line 3`,
		"a,b\na,b\n\nb,c\na,b\n": `l.csv:5:1: the link from "a" to "b" is already in line 2`,
		"a,b\na\n":               "l.csv:2: the line has 1 value, the header has 2",
	} {
		if _, err := ReadLinks(strings.NewReader(text), "l.csv", sensors); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if links, err := ReadLinks(strings.NewReader("a,b\n"), "l.csv", sensors); err != nil || links == nil {
		t.Errorf("a header alone means a graph without links, not an unknown graph: %v, %v", links, err)
	}
}

func TestReadChoosesByName(t *testing.T) {
	dir := t.TempDir()
	csv, json := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.GeoJSON")
	os.WriteFile(csv, []byte("id,x,y\na,1,2\n"), 0o600)
	os.WriteFile(json, []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2]},"properties":null}]}`), 0o600)
	if s, err := Read(csv, defaults); err != nil || s.Sensors[0].ID != "a" {
		t.Errorf("%v %v", s, err)
	}
	if s, err := Read(json, defaults); err != nil || s.Sensors[0].ID != "7" {
		t.Errorf("%v %v", s, err)
	}
	var fault *Error
	if _, err := Read(filepath.Join(dir, "none"), defaults); !errors.As(err, &fault) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Whatever a reader accepts can be written and read again without loss.
func FuzzReadCSV(f *testing.F) {
	f.Add("id,x,y,weight,energy,alt\na,1.5,-2,3,0.25,7\n")
	f.Add("\ufeffid;lat;lon\r\n\"a;\"\"b\";1,5;170\r\n")
	f.Add("id\tx\ty\n\"\t\"\t1\t2\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadCSV(strings.NewReader(text), "f.csv", defaults)
		var fault *Error
		if err != nil {
			if !errors.As(err, &fault) {
				t.Fatalf("%v is not an Error", err)
			}
			return
		}
		var b bytes.Buffer
		if err := WriteCSV(&b, s.Sensors); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCSV(&b, "again.csv", defaults)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.Sensors, again.Sensors); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzReadLinks(f *testing.F) {
	sensors := []field.Sensor{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	f.Add("a,b,etx\na,b,1.5\nb,c,\n")
	f.Fuzz(func(t *testing.T, text string) {
		links, err := ReadLinks(strings.NewReader(text), "l.csv", sensors)
		var fault *Error
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("%v is not an Error", err)
		}
		for _, l := range links {
			if l.A == l.B || l.A < 0 || l.B > 2 || !(l.ETX >= 1) {
				t.Fatalf("bad link %v", l)
			}
		}
	})
}
