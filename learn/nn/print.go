package nn

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// String prints the model as a table: a layer a line with its output's shape, its own number
// of weights, and what it is applied to.
func (m *Model) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s\n", m.Name)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "layer\tkind\toutput\tweights\tapplied to")
	counted := map[*Layer]bool{}
	states := 0
	for _, x := range m.weights {
		if x.State {
			states += x.Shape.Elems()
		}
	}
	for _, c := range m.calls {
		name, kind, weights := "", "input", ""
		if c.input != nil {
			name = c.input.name
		} else {
			name, kind = c.layer.Name, c.layer.Spec.Kind()
			weights = "shared"
			if !counted[c.layer] {
				weights = fmt.Sprint(m.layerWeights(c.layer.Name))
			}
			counted[c.layer] = true
		}
		shapes := make([]string, len(m.shapes[c]))
		for i, s := range m.shapes[c] {
			shapes[i] = s.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, kind, strings.Join(shapes, " "), weights, strings.Join(c.operands(), " "))
	}
	w.Flush()
	fmt.Fprintf(&b, "%d weights to train, %d kept\n", m.NumParams(), states)
	return b.String()
}

func (c *call) operands() []string {
	var names []string
	for _, n := range c.in {
		switch {
		case n.call.input != nil:
			names = append(names, n.call.input.name)
		case n.out > 0:
			names = append(names, fmt.Sprintf("%s:%d", n.call.layer.Name, n.out))
		default:
			names = append(names, n.call.layer.Name)
		}
	}
	return names
}

func (m *Model) layerWeights(layer string) int {
	n := 0
	for _, w := range m.weights {
		if strings.HasPrefix(w.Name, m.Name+"/"+layer+"/") {
			n += w.Shape.Elems()
		}
	}
	return n
}
