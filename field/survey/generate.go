package survey

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"millrace.dev/field"
)

// Field describes a made-up field.
type Field struct {
	Shape   string  // one of Shapes
	N       int     // sensors
	Side    float64 // metres of the square around it
	Weights string  // one of Weights
	Energy  float64 // joules of each sensor
	Seed    uint64
}

// Shapes are the outlines that Generate knows, in units of the side: the whole square, and three with holes
// or arms in which the middle of the field is a bad place to collect.
var Shapes = []string{"square", "c", "h", "ring"}

// Weights are the ways in which sensors produce packets: one each; most few and some many (Pareto, shape 1.5, at most 20);
// one each except in a corner of the field, where each has five.
var Weights = []string{"uniform", "heavy", "hotspot"}

func inside(shape string, x, y float64) bool {
	switch shape {
	case "c":
		return x < 0.3 || y < 0.3 || y > 0.7
	case "h":
		return x < 0.3 || x > 0.7 || math.Abs(y-0.5) < 0.15
	case "ring":
		r := math.Hypot(x-0.5, y-0.5)
		return r > 0.3 && r < 0.5
	}
	return true
}

// Generate places sensors evenly at random within the shape; positions are whole centimetres.
func Generate(f Field) ([]field.Sensor, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(f.Seed, 0x6669656c64)) // the second word keeps this use apart from others
	sensors := make([]field.Sensor, f.N)
	for i := range sensors {
		x, y := random.Float64(), random.Float64()
		for !inside(f.Shape, x, y) {
			x, y = random.Float64(), random.Float64()
		}
		sensors[i] = field.Sensor{ID: fmt.Sprintf("s%d", i+1), Pos: field.Point{X: math.Round(x*f.Side*100) / 100, Y: math.Round(y*f.Side*100) / 100},
			Weight: f.weight(random, x, y), Energy: f.Energy}
	}
	return sensors, nil
}

func (f *Field) check() error {
	known := func(list []string, name string) bool {
		for _, s := range list {
			if s == name {
				return true
			}
		}
		return false
	}
	switch {
	case !known(Shapes, f.Shape):
		return fmt.Errorf("shape %q is none of %v", f.Shape, Shapes)
	case !known(Weights, f.Weights):
		return fmt.Errorf("weights %q are none of %v", f.Weights, Weights)
	case f.N < 1 || f.N > maxSensors:
		return fmt.Errorf("%d sensors are not from 1 to %d", f.N, maxSensors)
	case !(f.Side > 0 && f.Side <= 1e7):
		return fmt.Errorf("side %g m is not above 0 and up to 1e7", f.Side)
	case !(f.Energy >= 0 && f.Energy <= math.MaxFloat64):
		return fmt.Errorf("energy %g J is not a number from 0 on", f.Energy)
	}
	return nil
}

func (f *Field) weight(random *rand.Rand, x, y float64) float64 {
	switch {
	case f.Weights == "heavy":
		return math.Min(20, math.Floor(math.Pow(1-random.Float64(), -1/1.5)))
	case f.Weights == "hotspot" && x < 0.3 && y < 0.3:
		return 5
	}
	return 1
}

// WriteCSV writes sensors in the form that ReadCSV reads, positions in metres.
func WriteCSV(w io.Writer, sensors []field.Sensor) error {
	b := bufio.NewWriter(w)
	b.WriteString("id,x,y,weight,energy,alt\n")
	var line []byte
	for i := range sensors {
		s := &sensors[i]
		line = append(line[:0], quoted(s.ID)...)
		for _, v := range []float64{s.Pos.X, s.Pos.Y, s.Weight, s.Energy, s.Alt} {
			line = append(line, ',')
			line = strconv.AppendFloat(line, v, 'g', -1, 64)
		}
		b.Write(append(line, '\n'))
	}
	return b.Flush()
}

// quoted puts an id in quotes when a reader of CSV would need them.
func quoted(id string) string {
	var out []byte
	plain := true
	for i := range len(id) {
		if id[i] == '"' {
			out = append(out, '"')
		}
		plain = plain && id[i] != ',' && id[i] != ';' && id[i] != '\t' && id[i] != '"'
		out = append(out, id[i])
	}
	if plain {
		return id
	}
	return `"` + string(out) + `"`
}
