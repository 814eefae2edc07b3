package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/geo"
	"millrace.dev/field/mission"
	"millrace.dev/field/survey"
	"millrace.dev/field/whatif"
)

// nasty is an id that would break out of text, attribute, or script if it were not escaped.
const nasty = `</script><img src=x onerror=alert(1)>"'&`

func input(t testing.TB, grid bool) Input {
	t.Helper()
	sensors, err := survey.Generate(survey.Field{Shape: "c", N: 90, Side: 200, Weights: "heavy", Energy: 5, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	sensors[0].ID = nasty
	sensors[7].Energy = 0
	in := &field.Instance{Sensors: sensors, Range: 45, Depot: &field.Point{X: -10, Y: 20}, Energy: field.CC2420(),
		Sink:      field.Sink{Speed: 3, Deadline: 4 * time.Minute, Rate: 10, Turn: 2 * time.Second, Launch: 10 * time.Second},
		Obstacles: []field.Obstacle{{Name: nasty, NoFly: true, Ring: []field.Point{{X: 80, Y: 80}, {X: 150, Y: 80}, {X: 150, Y: 120}}}}}
	plan, err := field.Solve(context.Background(), in, field.Options{Seed: 1, Effort: -1})
	if err != nil {
		t.Fatal(err)
	}
	frame, err := geo.New(geo.LatLon{Lat: 52, Lon: 5})
	if err != nil {
		t.Fatal(err)
	}
	out := Input{Title: "Test <b> & more", Mission: &mission.Mission{Instance: in, Plan: plan, Frame: frame, Vehicle: mission.Copter, Height: 20}}
	if grid {
		a := whatif.Axes{Deadlines: []time.Duration{time.Second, 4 * time.Minute}, Speeds: []float64{3, 6}, Ranges: []float64{45}}
		if out.Grid, err = whatif.Compute(context.Background(), in, a, field.Options{}, nil); err != nil {
			t.Fatal(err)
		}
		out.Grid.Put(in, plan)
	}
	return out
}

func write(t testing.TB, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page needs nothing from elsewhere and runs nothing that comes from the input.
func TestSelfContainedAndEscaped(t *testing.T) {
	page := write(t, input(t, true))
	for _, pattern := range []string{`(?i)https?://`, `(?i)<link`, `(?i)src=`, `(?i)@import`, `(?i)\burl\(`, `innerHTML`, `\beval\(`} {
		allowed := 0
		if pattern == `(?i)src=` {
			allowed = strings.Count(page, "&lt;img src=x") + strings.Count(page, `\u003cimg src=x`)
		}
		if found := len(regexp.MustCompile(pattern).FindAllString(page, -1)); found > allowed {
			t.Errorf("%s: %d times, %d allowed", pattern, found, allowed)
		}
	}
	if strings.Contains(page, nasty) || strings.Contains(page, "<b> &") || strings.Count(page, "</script>") != 1 {
		t.Error("input gets through unescaped")
	}
	if !strings.Contains(page, "Test &lt;b&gt; &amp; more") || !strings.Contains(page, "Content-Security-Policy") {
		t.Error("title or policy are missing")
	}
}

var scriptData = regexp.MustCompile(`(?m)^<script>const data = (.*);$`)

func dataOf(t *testing.T, page string) data {
	t.Helper()
	found := scriptData.FindStringSubmatch(page)
	var d data
	if found == nil {
		t.Fatal("no data in the page")
	}
	if err := json.Unmarshal([]byte(found[1]), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDataIsThePlans(t *testing.T) {
	in := input(t, true)
	d := dataOf(t, write(t, in))
	p := in.Mission.Plan
	if !slices.Equal(d.Load, p.Load) || !slices.Equal(d.Parent, p.Parent) || !slices.Equal(d.Up, p.Stop) || len(d.Stops) != len(p.Stops) || d.IDs[0] != nasty {
		t.Error("the data differ from the plan")
	}
	if len(d.Tours) != 1 || len(d.Tours[0]) != len(p.Tours[0].Path) || len(d.Zones) != 1 || d.Depot == nil {
		t.Error("tours, zones or depot are missing")
	}
	if g := d.Grid; len(g.Cells) != 4 || g.Base != [3]int{1, 0, 0} || g.Cells[0].Problem == "" || g.Cells[2].MaxLoad != p.MaxLoad {
		t.Errorf("grid %+v", d.Grid)
	}
	if len(d.Hot) != 5 || d.Load[d.Hot[0]] != slices.Max(d.Load) || !slices.IsSortedFunc(d.Hot, func(a, b int32) int { return compare(d.Load[b], d.Load[a]) }) {
		t.Errorf("hot spots %v", d.Hot)
	}
}

func TestPageTellsWhatIsNotServed(t *testing.T) {
	in := input(t, false)
	page := write(t, in)
	id := in.Mission.Instance.Sensors[7].ID
	if !strings.Contains(page, `<th scope="row">`+id+`</th><td>`+string(field.NoEnergy)) {
		t.Error("the dead sensor is not listed")
	}
	if strings.Contains(page, `id="s0"`) {
		t.Error("sliders without plans behind them")
	}
	for _, want := range []string{"89 / 90", fmt.Sprintf("≥ %s", num(in.Mission.Plan.Certificate.Bound)), "sensor " + in.Mission.Instance.Sensors[in.Mission.Plan.Busiest].ID} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestPageTellsBothBounds(t *testing.T) {
	in := input(t, false)
	c := &in.Mission.Plan.Certificate
	c.Bound, c.Gap = 1, 0.9
	for routing, want := range map[float64]string{0: "at most 90 % better. </p>", in.Mission.Plan.MaxLoad / 2: "get below " + num(in.Mission.Plan.MaxLoad/2) + ", 50 % less",
		in.Mission.Plan.MaxLoad: "get below " + num(in.Mission.Plan.MaxLoad) + ": these are the best"} {
		if c.Routing = routing; !strings.Contains(write(t, in), want) {
			t.Errorf("%q is missing with %g", want, routing)
		}
	}
}

func TestHistogramCountsAll(t *testing.T) {
	in := input(t, false)
	sum := 0
	for _, b := range histogram(in.Mission) {
		sum += b.Count
	}
	if sum != 89 {
		t.Errorf("%d of 89 sensors in the histogram", sum)
	}
}

func TestLargePlansAreCut(t *testing.T) {
	n := maxDrawn + 50
	p := &field.Plan{Load: make([]float64, n)}
	for i := range p.Load {
		p.Load[i] = float64(i % 1000)
	}
	kept := drawnSensors(p)
	if len(kept) != maxDrawn || !slices.IsSorted(kept) {
		t.Fatalf("%d drawn", len(kept))
	}
	drawn := map[int32]bool{}
	for _, i := range kept {
		drawn[i] = true
	}
	for i := range p.Load {
		if p.Load[i] > 0 && !drawn[int32(i)] {
			t.Fatalf("sensor %d with load %v is left out", i, p.Load[i])
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 5: "5", 1234567: "1,234,567", -1234.5: "-1,234.5", 0.12345: "0.123", 999: "999", math.Inf(1): "–"} {
		if got := num(v); got != want {
			t.Errorf("num(%v) is %q, want %q", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{1300 * time.Millisecond: "1.3s", 59900 * time.Millisecond: "1m 00s", 12 * time.Second: "12s", 3*time.Hour + 5*time.Minute: "3h 05m", 89500 * time.Millisecond: "1m 30s"} {
		if got := dur(d); got != want {
			t.Errorf("dur(%v) is %q, want %q", d, got, want)
		}
	}
}

// In a browser the script runs without an error, fills the table of the sliders and follows them.
func TestInBrowser(t *testing.T) {
	if testing.Short() {
		t.Log("short: the script is not run")
		return
	}
	browser, err := exec.LookPath("chromium")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Log("no chromium here: the script is not run")
		return
	}
	page := write(t, input(t, true))
	probe := `<script>
window.onerror = m => { document.body.dataset.error = m; };
addEventListener('load', () => {
  const s = document.getElementById('s0');
  document.body.dataset.before = document.querySelector('#outcome tbody').innerText;
  s.value = 0; s.dispatchEvent(new Event('input'));
  document.body.dataset.problem = document.getElementById('problem').textContent;
  document.getElementById('theme').click();
  document.body.dataset.theme = document.documentElement.dataset.theme;
  const c = document.getElementById('map');
  setInterval(() => { if (c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)) document.body.dataset.painted = 'yes'; }, 100);
});
</script></body>`
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(strings.Replace(page, "</body>", probe, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "profile"), "--virtual-time-budget=4000", "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	body := regexp.MustCompile(`<body[^>]*>`).FindString(string(out))
	if strings.Contains(body, "data-error") || !strings.Contains(body, "Busiest sensor") || !strings.Contains(body, `data-problem="No plan: `) ||
		!strings.Contains(body, `data-painted="yes"`) || !strings.Contains(body, "data-theme=") {
		t.Errorf("%s", body)
	}
}
