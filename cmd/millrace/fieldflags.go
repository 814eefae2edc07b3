package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/field"
	"millrace.dev/field/geo"
	"millrace.dev/field/mission"
	"millrace.dev/field/survey"
)

// fieldFlags are the flags that, with the file of sensors, say what is to be planned.
type fieldFlags struct {
	reach, uploadRange, speed, rate, climb, height, weight, energy float64
	deadline, turn, launch                                         time.Duration
	links, noFly, obstacles, depot, origin, upload, model, vehicle string
	sinks                                                          int
	seed                                                           uint64
	partial                                                        bool
	set                                                            func(name string) bool
}

func newFieldFlags(cmd *cobra.Command) *fieldFlags {
	var o fieldFlags
	f := cmd.Flags()
	f.Float64Var(&o.reach, "range", 0, "radio range in `metres`; needed unless --links is given")
	f.StringVar(&o.links, "links", "", "CSV `file` of measured links: columns a, b and optionally etx")
	f.Float64Var(&o.speed, "speed", 0, "speed of the vehicle in `m/s`; needed")
	f.DurationVar(&o.deadline, "deadline", 0, "`time` for a whole tour, such as 20m; needed")
	f.StringVar(&o.depot, "depot", "", "where tours start and end: `lat,lon`, or x,y in metres (default: anywhere)")
	f.StringVar(&o.origin, "origin", "", "`lat,lon` of the point 0,0 when the sensors are in metres, for mission files and maps")
	f.StringVar(&o.noFly, "no-fly", "", "GeoJSON `file` of polygons that the vehicle must not cross")
	f.StringVar(&o.obstacles, "obstacles", "", "GeoJSON `file` of polygons that radio does not pass")
	f.IntVar(&o.sinks, "sinks", 1, "`number` of vehicles")
	f.StringVar(&o.vehicle, "vehicle", "copter", "copter, plane, rover or boat")
	f.Float64Var(&o.height, "height", 15, "`metres` above the ground in flight")
	f.Float64Var(&o.climb, "climb", 2.5, "`m/s` up or down in flight; 0 means that it costs no time")
	f.DurationVar(&o.launch, "launch", 0, "`time` for take-off and landing (default: the height at the climb rate, twice)")
	f.DurationVar(&o.turn, "turn", 3*time.Second, "`time` lost at each stop for braking, turning and speeding up")
	f.StringVar(&o.upload, "upload", "listen", "who uploads at a stop: listen (every sensor that the vehicle hears) or buffer (only the one at the stop)")
	f.Float64Var(&o.uploadRange, "upload-range", 0, "`metres` on the map at which the vehicle hears a sensor (default: the radio range, less for the height)")
	f.Float64Var(&o.rate, "rate", 0, "`packets` a second that the vehicle receives (default: what the radio does)")
	f.StringVar(&o.model, "energy-model", "cc2420", "radio: "+strings.Join(modelNames(), ", "))
	f.Float64Var(&o.weight, "weight", 1, "`packets` a round of sensors whose file does not say")
	f.Float64Var(&o.energy, "energy", 20_000, "`joules` of sensors whose file does not say; two AA cells hold about 20,000")
	f.Uint64Var(&o.seed, "seed", 1, "`number` from which random choices follow")
	f.BoolVar(&o.partial, "partial", false, "leave out what cannot be reached in time instead of failing, and list it")
	o.set = func(name string) bool { return f.Changed(name) }
	return &o
}

func modelNames() []string {
	var names []string
	for _, e := range field.Presets() {
		names = append(names, e.Name)
	}
	return names
}

// read makes the mission, still without a plan, from the file of sensors and the flags.
func (o *fieldFlags) read(c *console, path string) (*mission.Mission, error) {
	m := &mission.Mission{Vehicle: mission.Vehicle(o.vehicle), Height: o.height}
	if err := o.check(m); err != nil {
		return nil, err
	}
	defaults := survey.Defaults{Weight: o.weight, Energy: o.energy}
	if o.origin != "" {
		a, b, err := pair(o.origin)
		if err != nil {
			return nil, usagef("--origin: %v", err)
		}
		defaults.Origin = &geo.LatLon{Lat: a, Lon: b}
		if err := defaults.Origin.Check(); err != nil {
			return nil, usagef("--origin: %w", err)
		}
	}
	s, err := survey.Read(path, defaults)
	if err != nil {
		return nil, err
	}
	for _, note := range s.Notes {
		c.remark("%s", note)
	}
	if s.Degrees && o.origin != "" {
		return nil, usagef("--origin is for sensors in metres; %s gives latitude and longitude", path)
	}
	m.Frame = s.Frame
	m.Instance, err = o.instance(s)
	return m, err
}

// check sees to it that the flags make sense by themselves.
func (o *fieldFlags) check(m *mission.Mission) error {
	var vehicles []string
	for _, v := range mission.Vehicles {
		vehicles = append(vehicles, string(v))
	}
	flies := m.Vehicle == mission.Copter || m.Vehicle == mission.Plane
	if err := o.missing(); err != nil {
		return usagef("%w", err)
	}
	if err := o.outside(); err != nil {
		return usagef("%w", err)
	}
	switch {
	case !slices.Contains(vehicles, o.vehicle):
		return usagef("--vehicle %q is none of %s", o.vehicle, strings.Join(vehicles, ", "))
	case o.links != "" && o.set("range"):
		return usagef("--range and --links exclude each other: links are either measured or follow from the range")
	case o.turn < 0 || o.launch < 0 || o.sinks < 1:
		return usagef("--turn and --launch cannot be negative, and --sinks not below 1")
	case flies && o.uploadRange == 0 && o.links == "" && o.height >= o.reach && o.upload == "listen":
		return usagef("at --height %g m the %s is out of the radio --range of %g m", o.height, o.vehicle, o.reach)
	}
	if !flies {
		m.Height, o.climb = 0, 0
	}
	return nil
}

// holds is what autopilots count waiting in.
const holds = time.Second

// missing names the flags without which nothing can be planned and that were not given.
func (o *fieldFlags) missing() error {
	var names, meanings []string
	for _, f := range []struct {
		name, meaning string
		given         bool
	}{
		{"--range", "the radio range in metres (or --links with measured links)", o.set("range") || o.links != ""},
		{"--speed", "the speed of the vehicle in m/s", o.set("speed")},
		{"--deadline", "the time for a whole tour, such as 20m", o.set("deadline")},
	} {
		if !f.given {
			names, meanings = append(names, f.name), append(meanings, f.meaning)
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is needed: %s", names[0], meanings[0])
	}
	last := len(names) - 1
	return fmt.Errorf("%s and %s are needed: %s", strings.Join(names[:last], ", "), names[last], strings.Join(meanings, "; "))
}

// outside reports the first number that makes no sense by itself.
func (o *fieldFlags) outside() error {
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{
		{"range", o.reach, 1e7}, {"speed", o.speed, 1e5}, {"upload-range", o.uploadRange, 1e7}, {"height", o.height, 1e5},
		{"climb", o.climb, 1e4}, {"rate", o.rate, 1e9}, {"weight", o.weight, 1e9}, {"energy", o.energy, 1e12},
	} {
		switch {
		case (f.name == "range" || f.name == "speed") && o.set(f.name) && f.value <= 0:
			return fmt.Errorf("--%s %g must be above 0", f.name, f.value)
		case !(f.value >= 0 && f.value <= f.most):
			return fmt.Errorf("--%s %g is not a number from 0 to %s", f.name, f.value, figure(f.most))
		}
	}
	if o.set("deadline") && o.deadline <= 0 {
		return fmt.Errorf("--deadline %v must be above 0", o.deadline)
	}
	return nil
}

func (o *fieldFlags) instance(s *survey.Survey) (*field.Instance, error) {
	in := &field.Instance{Sensors: s.Sensors, Range: o.reach, UploadRange: o.uploadRange, Sinks: o.sinks,
		Sink: field.Sink{Speed: o.speed, Deadline: o.deadline, Turn: o.turn, Hold: holds, Climb: o.climb, Rate: o.rate, Launch: o.launch}}
	var err error
	if in.Upload, err = field.ParseUpload(o.upload); err != nil {
		return nil, usagef("--%w", err)
	}
	if in.Energy, err = energyModel(o.model); err != nil {
		return nil, err
	}
	if o.rate == 0 {
		in.Sink.Rate = in.Energy.BitRate / float64(in.Energy.PacketBits)
	}
	if o.climb > 0 && !o.set("launch") {
		in.Sink.Launch = time.Duration(2 * o.height / o.climb * float64(time.Second))
	}
	if o.climb > 0 && in.UploadRange == 0 && o.reach > o.height {
		in.UploadRange = math.Floor(1000*math.Sqrt(o.reach*o.reach-o.height*o.height)) / 1000
	}
	if o.links != "" {
		if in.Links, err = survey.ReadLinksFile(o.links, s.Sensors); err != nil {
			return nil, err
		}
	}
	if err := o.zones(in, s); err != nil {
		return nil, err
	}
	if o.depot != "" {
		if in.Depot, err = depotAt(o.depot, s); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// energyModel finds a radio by name; the spreading factors below 10 may go without their zero.
func energyModel(name string) (field.Energy, error) {
	for _, e := range field.Presets() {
		if e.Name == name || strings.Replace(e.Name, "-sf0", "-sf", 1) == name {
			return e, nil
		}
	}
	return field.Energy{}, usagef("--energy-model %q is none of %s", name, strings.Join(modelNames(), ", "))
}

func (o *fieldFlags) zones(in *field.Instance, s *survey.Survey) error {
	frame := s.Frame
	if !s.Degrees {
		frame = nil // zones are in metres as the sensors are
	}
	for _, z := range []struct {
		path string
		kind survey.Kind
	}{{o.noFly, survey.NoFly}, {o.obstacles, survey.Shield}} {
		if z.path == "" {
			continue
		}
		list, err := survey.ReadZonesFile(z.path, z.kind, frame)
		if err != nil {
			return err
		}
		in.Obstacles = append(in.Obstacles, list...)
	}
	return nil
}

// depotAt reads a depot in the unit of the sensors.
func depotAt(text string, s *survey.Survey) (*field.Point, error) {
	a, b, err := pair(text)
	if err != nil {
		return nil, usagef("--depot: %v", err)
	}
	if !s.Degrees {
		return &field.Point{X: a, Y: b}, nil
	}
	const far, near = 1_000_000, 200_000 // metres from the middle of the sensors
	p, err := s.Frame.Local(geo.LatLon{Lat: a, Lon: b})
	if err != nil || p.Dist(field.Point{}) > far {
		if swapped, failed := s.Frame.Local(geo.LatLon{Lat: b, Lon: a}); failed == nil && swapped.Dist(field.Point{}) < near {
			return nil, usagef("--depot %s is far from the sensors, but %g,%g is near: are latitude and longitude swapped?", text, b, a)
		}
	}
	if err != nil {
		return nil, usagef("--depot: %w", err)
	}
	return &p, nil
}

// pair reads two numbers with a comma between them.
func pair(text string) (a, b float64, err error) {
	left, right, found := strings.Cut(text, ",")
	a, errA := strconv.ParseFloat(strings.TrimSpace(left), 64)
	b, errB := strconv.ParseFloat(strings.TrimSpace(right), 64)
	if !found || errA != nil || errB != nil || math.IsNaN(a+b) || math.IsInf(a+b, 0) {
		return 0, 0, fmt.Errorf("%q is not two numbers such as 52.1,5.3", text)
	}
	return a, b, nil
}

// planningError turns faults that the planner finds into those of the command line or of the data.
func planningError(err error) error {
	var fault *field.InputError
	if !errors.As(err, &fault) {
		return err
	}
	switch fault.Field {
	case "range", "upload range", "upload", "speed", "deadline", "rate", "climb", "turn", "sinks", "depot":
		return usagef("%w", err)
	}
	return badInputf("%w", err)
}

// stages shows how far the planner is, for instances that take a while.
func stages(c *console, sensors int) func(stage string, done, total int) {
	if sensors < 20_000 {
		return nil
	}
	var p *progress
	last := ""
	return func(stage string, done, total int) {
		if stage != last {
			p, last = c.progress("planning: "+stage, "steps", int64(total)), stage
		}
		p.set(int64(done), "")
	}
}
