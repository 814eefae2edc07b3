package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/lbd"
	"millrace.dev/field/sim"
	"millrace.dev/field/whatif"
)

// fieldDir is a directory with sensors.csv, a field in the shape of a C.
func fieldDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if got := millrace(t, dir, "field", "generate", "--shape", "c", "-n", "80", "--side", "200", "-o", "sensors.csv"); got.code != exitDone || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	return dir
}

var planArgs = []string{"field", "plan", "sensors.csv", "--range", "45", "--speed", "3", "--deadline", "3m", "--depot", "20,100"}

func plus(args []string, more ...string) []string { return append(slices.Clone(args), more...) }

func TestFieldPlan(t *testing.T) {
	dir := fieldDir(t)
	s := decode[planSummary](t, millrace(t, dir, plus(planArgs, "--origin", "52,5", "--json")...))
	if s.Served != 80 || s.Stops == 0 || len(s.Tours) != 1 || s.Tours[0].Total > 180 || s.Bound > s.MaxLoad || len(s.Unserved) != 0 {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"plan.json", "mission.plan", "mission.waypoints", "plan.geojson", "plan.kml", "plan.gpx", "routes.csv", "routes.h", "collection.jsonl", "report.html"} {
		if !slices.Contains(s.Files, name) {
			t.Errorf("%s is not listed", name)
		}
		if info, err := os.Stat(filepath.Join(dir, "plan", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Planned again in the same place, in metres only: the missions and maps of before are gone, and nothing else.
	if err := os.WriteFile(filepath.Join(dir, "plan", "mission-notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := millrace(t, dir, planArgs...)
	if got.code != exitDone || !strings.Contains(got.stdout, "80 of 80 sensors served") || !strings.Contains(got.stdout, "--origin") {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"mission.plan", "mission.waypoints", "plan.geojson", "plan.kml", "plan.gpx"} {
		if _, err := os.Stat(filepath.Join(dir, "plan", name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "plan", "mission-notes.txt")); err != nil {
		t.Error(err)
	}
}

func TestFieldPlanNamesTheBoundOfItsTour(t *testing.T) {
	dir := fieldDir(t)
	s := decode[planSummary](t, millrace(t, dir, plus(planArgs, "--what-if=false", "--json")...))
	if s.RoutingBound < 1 || s.RoutingBound > s.MaxLoad || s.RoutingBound < s.Bound {
		t.Errorf("%+v", s)
	}
	if got := millrace(t, dir, plus(planArgs, "--what-if=false")...); !strings.Contains(got.stdout, "on this tour no routes") {
		t.Errorf("%s", got.stdout)
	}
}

func TestFieldPlanThatServesNobody(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sensors.csv"), []byte("id,x,y\nfar,90000,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := millrace(t, dir, "field", "plan", "sensors.csv", "--range", "45", "--speed", "3", "--deadline", "3m", "--depot", "0,0", "--partial")
	if got.code != exitDone || !strings.Contains(got.stdout, "0 of 1 sensor served at 0 stops\nnot served: far: ") {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "plan", "plan.json"))
	if err != nil || !strings.Contains(string(text), `"stops":[],"tours":[]`) {
		t.Errorf("%v %s", err, text)
	}
}

func TestFieldEnergyModelsByEitherName(t *testing.T) {
	for _, names := range [][2]string{{"lora-sf7", "lora-sf07"}, {"lora-sf09", "lora-sf09"}, {"lora-sf12", "lora-sf12"}} {
		if e, err := energyModel(names[0]); err != nil || e.Name != names[1] {
			t.Errorf("%s: %v, %v", names[0], e.Name, err)
		}
	}
}

func TestFieldPlanTwice(t *testing.T) {
	dir := fieldDir(t)
	read := func(out string) string {
		if got := millrace(t, dir, plus(planArgs, "-o", out)...); got.code != exitDone {
			t.Fatalf("%+v", got)
		}
		text, err := os.ReadFile(filepath.Join(dir, out, "plan.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read("a") != read("b") {
		t.Error("the same seed gives another plan")
	}
}

func TestFieldPlanFaults(t *testing.T) {
	dir := fieldDir(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bad.csv", "id,x,y\na,1,2\nb,1,north\n")
	write("degrees.csv", "id,lat,lon\na,52,5\nb,52.0001,5.0001\n")
	write("links.csv", "a,b\ns1,s99\n")
	os.MkdirAll(filepath.Join(dir, "mine"), 0o700)
	write("mine/thesis.txt", "precious")
	usual := []string{"--range", "45", "--speed", "3", "--deadline", "3m"}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitBadInput, plus([]string{"bad.csv"}, usual...), `bad.csv:3:5: y: "north" is not a finite number`},
		{exitBadInput, plus([]string{"none.csv"}, usual...), "none.csv: cannot be opened"},
		{exitBadInput, plus([]string{"sensors.csv", "-o", "mine"}, usual...), "mine is not empty and holds no plan"},
		{exitBadInput, []string{"sensors.csv", "--links", "links.csv", "--speed", "3", "--deadline", "3m", "--upload-range", "30"}, `links.csv:2:4: no sensor has the id "s99"`},
		{exitUsage, []string{"sensors.csv", "--range", "45", "--speed", "3"}, "--deadline is needed"},
		{exitUsage, []string{"sensors.csv", "--speed", "3", "--deadline", "3m"}, "--range is needed"},
		{exitUsage, []string{"sensors.csv", "--range", "45", "--deadline", "3m"}, "--speed is needed"},
		{exitUsage, plus([]string{"sensors.csv", "--vehicle", "tank"}, usual...), `"tank" is none of copter, plane, rover, boat`},
		{exitUsage, []string{"sensors.csv", "--deadline", "3m"}, "--range and --speed are needed"},
		{exitUsage, []string{"sensors.csv"}, "--range, --speed and --deadline are needed"},
		{exitUsage, plus([]string{"sensors.csv"}, plus(usual, "--range", "-80")...), "--range -80 must be above 0"},
		{exitUsage, plus([]string{"sensors.csv"}, plus(usual, "--speed", "0")...), "--speed 0 must be above 0"},
		{exitUsage, plus([]string{"sensors.csv"}, plus(usual, "--deadline", "0")...), "--deadline 0s must be above 0"},
		{exitUsage, plus([]string{"sensors.csv", "--weight", "nan"}, usual...), "--weight NaN is not a number from 0 to"},
		{exitUsage, plus([]string{"sensors.csv", "--height", "nan"}, usual...), "--height NaN is not a number from 0 to 100,000"},
		{exitUsage, plus([]string{"sensors.csv", "--height", "1e308"}, usual...), "--height 1e+308 is not a number from 0 to 100,000"},
		{exitUsage, plus([]string{"sensors.csv", "--height", "80"}, usual...), "out of the radio --range"},
		{exitUsage, plus([]string{"sensors.csv", "--turn", "-1s"}, usual...), "cannot be negative"},
		{exitUsage, plus([]string{"sensors.csv", "--energy-model", "x"}, usual...), "is none of first-order, cc2420"},
		{exitUsage, plus([]string{"sensors.csv", "--depot", "here"}, usual...), "is not two numbers"},
		{exitUsage, plus([]string{"sensors.csv", "--upload", "x"}, usual...), "neither listen nor buffer"},
		{exitUsage, plus([]string{"degrees.csv", "--depot", "5,52"}, usual...), "are latitude and longitude swapped?"},
		{exitUsage, plus([]string{"degrees.csv", "--origin", "5,52"}, usual...), "--origin is for sensors in metres"},
		{exitUsage, plus(usual), "SENSORS is missing"},
		{exitFailed, []string{"sensors.csv", "--range", "45", "--speed", "3", "--deadline", "3m", "--depot", "9000,0"}, "nearest feasible deadline"},
	} {
		got := millrace(t, dir, plus([]string{"field", "plan"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %d %q, want %d %q", c.args, got.code, got.stderr, c.code, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "plan")); err == nil {
		t.Error("a plan that failed left a directory")
	}
}

// The deadline that a failed plan names does do.
func TestFieldNearestDeadline(t *testing.T) {
	dir := fieldDir(t)
	args := []string{"field", "plan", "sensors.csv", "--range", "45", "--speed", "3", "--depot", "900,0", "--json", "--deadline"}
	got := millrace(t, dir, plus(args, "3m")...)
	var none infeasible
	if err := json.Unmarshal([]byte(got.stdout), &none); err != nil || got.code != exitFailed || none.Nearest <= 180 || none.Problem == "" {
		t.Fatalf("%v %+v", err, got)
	}
	nearest := time.Duration(none.Nearest * float64(time.Second)).Round(time.Nanosecond)
	if got := millrace(t, dir, plus(args, nearest.String())...); got.code != exitDone {
		t.Errorf("%v: %+v", nearest, got)
	}
}

func TestFieldPartialListsEveryUnserved(t *testing.T) {
	dir := t.TempDir()
	text := "id,x,y\na,0,0\nb,20,0\nfar1,90000,0\nfar2,90010,0\n"
	if err := os.WriteFile(filepath.Join(dir, "sensors.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := millrace(t, dir, "field", "plan", "sensors.csv", "--range", "45", "--speed", "3", "--deadline", "3m", "--depot", "0,0", "--partial")
	if got.code != exitDone || !strings.Contains(got.stdout, "2 of 4") || !strings.Contains(got.stdout, "not served: far1: "+string(field.OutOfReach)) || !strings.Contains(got.stdout, "not served: far2: ") {
		t.Errorf("%+v", got)
	}
}

// Above its only stop a copter still has to take off and land.
func TestFieldPlanCountsTheLaunch(t *testing.T) {
	dir := fieldDir(t)
	args := func(deadline string) []string {
		return []string{"field", "plan", "sensors.csv", "--range", "500", "--speed", "3", "--deadline", deadline, "--depot", "60,60", "-o", "up"}
	}
	got := millrace(t, dir, args("2s")...)
	if got.code == exitDone || !strings.Contains(got.stderr, "nearest feasible deadline") {
		t.Fatalf("%+v", got)
	}
	nearest := strings.Fields(got.stderr[strings.Index(got.stderr, "nearest feasible deadline")+len("nearest feasible deadline"):])[0]
	if d, err := time.ParseDuration(nearest); err != nil || d < 15*time.Second {
		t.Errorf("nearest deadline %s, %v", nearest, err)
	}
	if got := millrace(t, dir, args(nearest)...); got.code != exitDone {
		t.Errorf("%+v", got)
	}
}

func TestFieldSimulate(t *testing.T) {
	dir := fieldDir(t)
	if got := millrace(t, dir, planArgs...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	r := decode[sim.Result](t, millrace(t, dir, "field", "simulate", "plan", "--rounds", "50", "--until", "rounds", "--loss", "0.1", "--json"))
	if r.Rounds != 50 || r.Made != 50*80 || r.Delivered == 0 || r.Energy.Transmit == 0 {
		t.Errorf("%+v", r)
	}
	if got := millrace(t, dir, "field", "simulate", "plan/plan.json"); got.code != exitDone || !strings.Contains(got.stdout, "delivered 100.00 %") || !strings.Contains(got.stdout, "HOT SPOT") {
		t.Errorf("%+v", got)
	}
	d := decode[lbd.Result](t, millrace(t, dir, "field", "simulate", "plan", "--distributed", "--loss", "0.05", "--epochs", "5", "--deaths", "0.1", "--json"))
	if d.Routed == 0 || d.Routed+d.Apart != d.Alive || d.MostFrames > 12 || d.Tour.Time > 3*time.Minute || d.BusiestFrames == 0 || d.Tour.Packets == 0 {
		t.Errorf("%+v", d)
	}
	for _, c := range []struct {
		code int
		args []string
	}{{exitUsage, []string{"plan", "--loss", "2"}}, {exitUsage, []string{"plan", "--loss", "1", "--distributed"}}, {exitUsage, []string{"plan", "--until", "noon"}}, {exitUsage, []string{"plan", "--deaths", "2"}}, {exitBadInput, []string{"sensors.csv"}}, {exitBadInput, []string{"none"}}} {
		if got := millrace(t, dir, plus([]string{"field", "simulate"}, c.args...)...); got.code != c.code {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestFieldCompareAndWhatIf(t *testing.T) {
	dir := fieldDir(t)
	args := plus([]string{"field", "compare"}, planArgs[2:]...)
	rows := decode[[]comparison](t, millrace(t, dir, plus(args, "--json")...))
	if len(rows) != 1+len(field.Baselines()) || rows[0].Method != "rps-lb" {
		t.Fatalf("%+v", rows)
	}
	for _, r := range rows[1:] {
		if r.Problem == "" && (r.Rounds > rows[0].Rounds || r.Total > 180) {
			t.Errorf("%+v beside %+v", r, rows[0])
		}
	}
	if got := millrace(t, dir, args...); got.code != exitDone || !strings.Contains(got.stdout, "RPS-LB LIVES x") {
		t.Errorf("%+v", got)
	}
	if got := millrace(t, dir, planArgs...); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	g := decode[whatif.Grid](t, millrace(t, dir, "field", "what-if", "plan", "--deadlines", "100ms,6m", "--speeds", "3", "--ranges", "45", "--json"))
	if len(g.Cells) != 2 || g.Cells[0].Problem == "" || g.Cells[1].MaxLoad == 0 {
		t.Errorf("%+v", g)
	}
	same := decode[whatif.Grid](t, millrace(t, dir, "field", "what-if", "plan", "--deadlines", "3m", "--speeds", "3", "--ranges", "45", "--json"))
	if len(same.Cells) != 1 || same.Cells[0].MaxLoad != rows[0].MaxLoad {
		t.Errorf("%+v, the plan's load is %v", same, rows[0].MaxLoad)
	}
	if got := millrace(t, dir, "field", "what-if", "plan", "--deadlines", "100ms"); got.code != exitDone || !strings.Contains(got.stdout, "no plan: ") || !strings.Contains(got.stdout, "may be worse than") {
		t.Errorf("%+v", got)
	}
}

func TestFieldGenerate(t *testing.T) {
	got := millrace(t, "", "field", "generate", "--example", "stations")
	if got.code != exitDone || strings.Count(got.stdout, "\n") != 227 || !strings.HasPrefix(got.stdout, "id,lat,lon\n") {
		t.Errorf("%+v", got.code)
	}
	for _, args := range [][]string{{"--example", "x"}, {"--shape", "star"}, {"-n", "0"}, {"more"}, {"--json"}} {
		if got := millrace(t, "", plus([]string{"field", "generate"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: %+v", args, got)
		}
	}
	dir := t.TempDir()
	for _, args := range [][]string{{"--example", "stations"}, {"-n", "226"}} {
		made := decode[generated](t, millrace(t, dir, plus([]string{"field", "generate", "-o", "s.csv", "--json"}, args...)...))
		if made.Sensors != 226 || made.Out != "s.csv" {
			t.Errorf("%v: %+v", args, made)
		}
	}
}
