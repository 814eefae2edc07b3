package nn

import (
	"fmt"
	"slices"
	"strings"

	"millrace.dev/learn/tensor"
)

// Named is a name and shape of a weight.
type Named struct {
	Name  string
	Shape tensor.Shape
}

// MismatchError lists how the weights that were found differ from those that are needed.
type MismatchError struct {
	Missing    []string // needed, not found
	Unexpected []string // found, not needed
	Mismatched []string // found with another shape; in words
}

func (e *MismatchError) Error() string {
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
	}{{"missing", e.Missing}, {"unexpected", e.Unexpected}, {"of another shape", e.Mismatched}} {
		if len(list.names) > 0 {
			parts = append(parts, list.what+": "+some(list.names))
		}
	}
	return "the weights do not fit: " + strings.Join(parts, "; ")
}

// BadInput marks the error as the fault of what was read.
func (e *MismatchError) BadInput() bool { return true }

// some lists the first names.
func some(names []string) string {
	const most = 6
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// CompareWeights checks that found are exactly the weights needed, in any order; else it
// returns a *MismatchError.
func CompareWeights(needed, found []Named) error {
	e := &MismatchError{}
	have := map[string]tensor.Shape{}
	for _, f := range found {
		if _, twice := have[f.Name]; twice {
			e.Unexpected = append(e.Unexpected, f.Name+" (twice)")
		}
		have[f.Name] = f.Shape
	}
	for _, n := range needed {
		shape, ok := have[n.Name]
		switch {
		case !ok:
			e.Missing = append(e.Missing, n.Name)
		case !shape.Equal(n.Shape):
			e.Mismatched = append(e.Mismatched, fmt.Sprintf("%s is %v, not %v", n.Name, shape, n.Shape))
		}
		delete(have, n.Name)
	}
	for name := range have {
		e.Unexpected = append(e.Unexpected, name)
	}
	slices.Sort(e.Unexpected)
	if len(e.Missing)+len(e.Unexpected)+len(e.Mismatched) > 0 {
		return e
	}
	return nil
}

// Names lists the names and shapes of the model's weights.
func (m *Model) Names() []Named {
	list := make([]Named, len(m.weights))
	for i, w := range m.weights {
		list[i] = Named{w.Name, w.Shape}
	}
	return list
}
