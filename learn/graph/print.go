package graph

import (
	"fmt"
	"reflect"
	"strings"
)

// String prints the graph, a node a line:
//
//	%7 f32[64 32] = matmul{Bias:true} %1 %3 %4  # mlp/dense1
func (g *Graph) String() string {
	var b strings.Builder
	for _, n := range g.Nodes {
		b.WriteString(n.String())
		b.WriteByte('\n')
	}
	for _, o := range g.Outputs {
		fmt.Fprintf(&b, "output %q %%%d\n", o.Name, o.Value.ID)
	}
	for _, d := range g.Grads {
		fmt.Fprintf(&b, "grad %q %%%d\n", d.Param.Name, d.Value.ID)
	}
	return b.String()
}

// String prints one node.
func (n *Node) String() string {
	var b strings.Builder
	for i, o := range n.Out {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%%%d %v", o.ID, o.Spec)
	}
	fmt.Fprintf(&b, " = %s%s", n.Op, attrString(n.Attr))
	for _, v := range n.In {
		fmt.Fprintf(&b, " %%%d", v.ID)
	}
	if len(n.Out) == 1 && n.Out[0].Name != "" {
		fmt.Fprintf(&b, " %q", n.Out[0].Name)
	}
	if n.Path != "" {
		fmt.Fprintf(&b, "  # %s", n.Path)
	}
	return b.String()
}

func attrString(attr any) string {
	switch a := attr.(type) {
	case nil:
		return ""
	case ConstAttr:
		if len(a.Data) > 4 {
			return fmt.Sprintf("{%v …}", a.Data[:4])
		}
		return fmt.Sprintf("{%v}", a.Data)
	default:
		fields := attrFields(reflect.ValueOf(attr))
		if len(fields) == 0 {
			return ""
		}
		return "{" + strings.Join(fields, " ") + "}"
	}
}

// attrFields lists an attribute's fields that are not zero, those of embedded structs included.
func attrFields(v reflect.Value) []string {
	if v.Kind() != reflect.Struct {
		return []string{fmt.Sprint(v)}
	}
	fields := []string{}
	for i := range v.NumField() {
		f, kind := v.Field(i), v.Type().Field(i)
		switch {
		case f.IsZero() || !kind.IsExported():
		case kind.Anonymous:
			fields = append(fields, attrFields(f)...)
		default:
			fields = append(fields, fmt.Sprintf("%s:%v", kind.Name, f))
		}
	}
	return fields
}
