package nn

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Row is a line of a model's table: an input or one application of a layer.
type Row struct {
	Name    string
	Kind    string
	Output  string // shapes of the outputs, without the batch
	Weights int    // of the layer, trained or not; counted at its first application only
	Shared  bool   // a further application of a layer
	In      []string
}

// Rows is the model as a table, in the order of the forward pass.
func (m *Model) Rows() []Row {
	var rows []Row
	counted := map[*Layer]bool{}
	for _, c := range m.calls {
		r := Row{Name: m.names[c], Kind: "input"}
		if c.layer != nil {
			r.Kind, r.Shared = c.layer.Spec.Kind(), counted[c.layer]
			counted[c.layer] = true
		}
		if c.layer != nil && !r.Shared {
			r.Weights = m.layerWeights(m.layers[c.layer])
		}
		shapes := make([]string, len(m.shapes[c]))
		for i, s := range m.shapes[c] {
			shapes[i] = s.String()
		}
		r.Output = strings.Join(shapes, " ")
		for _, n := range c.in {
			r.In = append(r.In, m.ref(n))
		}
		rows = append(rows, r)
	}
	return rows
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

// String prints the model as a table: an application of a layer a line with its output's
// shape, the layer's number of weights, and what it is applied to; totals at the end.
func (m *Model) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s\n", m.Name)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "layer\tkind\toutput\tweights\tapplied to")
	for _, r := range m.Rows() {
		weights := fmt.Sprint(r.Weights)
		switch {
		case r.Shared:
			weights = "shared"
		case r.Kind == "input":
			weights = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Kind, r.Output, weights, strings.Join(r.In, " "))
	}
	w.Flush()
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n") // empty cells at the end leave blanks
	}
	fmt.Fprintf(&b, "%d weights to train, %d kept\n", m.NumParams(), m.NumStates())
	return b.String()
}
