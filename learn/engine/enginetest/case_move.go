package enginetest

import (
	"fmt"

	"millrace.dev/learn/graph"
)

func moveCases() []Case {
	cs := []Case{
		{Name: "reshape", Build: one(func(b *Builder) *graph.Value { return b.Square(b.Reshape(b.Normal(2, 3, 4), 6, 4)) })},
		{Name: "reshape/scalar", Build: one(func(b *Builder) *graph.Value { return b.Square(b.Reshape(b.Normal(1, 1), []int{}...)) })},
		{Name: "reshape/output", Build: one(func(b *Builder) *graph.Value { return b.Reshape(b.Normal(4, 4), 2, 8) })},
		{Name: "concat/one", Build: one(func(b *Builder) *graph.Value { return b.Concat(0, b.Normal(3)) })},
		{Name: "concat/same", Build: one(func(b *Builder) *graph.Value {
			x := b.Normal(2, 3)
			return b.Concat(1, x, x)
		})},
	}
	for _, t := range []struct{ shape, perm []int }{
		{[]int{5}, []int{0}}, {[]int{3, 4}, []int{1, 0}}, {[]int{33, 47}, []int{1, 0}}, {[]int{2, 3, 4}, []int{2, 0, 1}},
		{[]int{2, 3, 4}, []int{0, 2, 1}}, {[]int{2, 5, 5, 3}, []int{0, 3, 1, 2}}, {[]int{2, 3, 5, 5}, []int{0, 2, 3, 1}},
		{[]int{2, 1, 3, 2, 2}, []int{4, 2, 0, 1, 3}}, {[]int{2, 3, 4, 5}, []int{3, 2, 1, 0}}, {[]int{1, 6, 1}, []int{2, 0, 1}}, {[]int{2, 0, 3}, []int{1, 0, 2}},
	} {
		cs = append(cs, Case{Name: fmt.Sprintf("transpose/%v/%v", t.shape, t.perm), Build: one(func(b *Builder) *graph.Value {
			return b.Transpose(b.Normal(t.shape...), t.perm...)
		})})
	}
	for _, s := range []struct{ shape, start, limit []int }{
		{[]int{5}, []int{1}, []int{4}}, {[]int{3, 4}, []int{0, 1}, []int{3, 3}}, {[]int{4, 6, 5}, []int{1, 2, 0}, []int{3, 5, 5}},
		{[]int{2, 7, 7, 3}, []int{0, 1, 2, 0}, []int{2, 6, 6, 3}}, {[]int{5, 2}, []int{2, 0}, []int{2, 2}}, {[]int{5, 2}, []int{0, 0}, []int{5, 2}},
	} {
		cs = append(cs, Case{Name: fmt.Sprintf("slice/%v/%v/%v", s.shape, s.start, s.limit), Build: one(func(b *Builder) *graph.Value {
			return b.Slice(b.Normal(s.shape...), s.start, s.limit)
		})})
	}
	for _, p := range []struct {
		shape, before, after []int
		value                float32
	}{
		{[]int{3}, []int{1}, []int{2}, 0}, {[]int{2, 3}, []int{0, 1}, []int{1, 0}, -1.5}, {[]int{2, 4, 5, 3}, []int{0, 1, 2, 0}, []int{0, 2, 1, 0}, 0},
		{[]int{2, 3}, []int{0, 0}, []int{0, 0}, 7}, {[]int{0, 3}, []int{1, 0}, []int{1, 1}, 2},
	} {
		cs = append(cs, Case{Name: fmt.Sprintf("pad/%v/%v/%v", p.shape, p.before, p.after), Build: one(func(b *Builder) *graph.Value {
			return b.Apply("pad", graph.PadAttr{Before: p.before, After: p.after, Value: p.value}, b.Normal(p.shape...))[0]
		})})
	}
	for _, c := range []struct {
		axis   int
		shapes [][]int
	}{
		{0, [][]int{{2, 3}, {1, 3}}}, {1, [][]int{{2, 3}, {2, 5}, {2, 1}}}, {3, [][]int{{2, 4, 4, 3}, {2, 4, 4, 16}}},
		{1, [][]int{{2, 3, 2}, {2, 0, 2}, {2, 4, 2}}}, {2, [][]int{{2, 2, 3}, {2, 2, 2}}},
	} {
		cs = append(cs, Case{Name: fmt.Sprintf("concat/%d/%v", c.axis, c.shapes), Build: one(func(b *Builder) *graph.Value {
			xs := []*graph.Value{}
			for _, s := range c.shapes {
				xs = append(xs, b.Normal(s...))
			}
			return b.Concat(c.axis, xs...)
		})})
	}
	return cs
}

func rowCases() []Case {
	cs := []Case{}
	for _, s := range []struct {
		table []int
		rows  []int
	}{
		{[]int{5, 3}, []int{4}}, {[]int{10, 16}, []int{3, 7}}, {[]int{7}, []int{5}}, {[]int{4, 2, 3}, []int{2, 2}}, {[]int{100, 64}, []int{200}}, {[]int{3, 4}, []int{0}}, {[]int{3, 4}, []int{}},
	} {
		cs = append(cs,
			Case{Name: fmt.Sprintf("gather/%v/%v", s.table, s.rows), Build: one(func(b *Builder) *graph.Value {
				return b.Gather(b.Normal(s.table...), b.Below(s.table[0], s.rows...))
			})},
			Case{Name: fmt.Sprintf("scatter_add/%v/%v", s.table, s.rows), Build: one(func(b *Builder) *graph.Value {
				shape := append(append([]int{}, s.rows...), s.table[1:]...)
				return b.Apply("scatter_add", graph.RowsAttr{Rows: s.table[0]}, b.Below(s.table[0], s.rows...), b.Normal(shape...))[0]
			})})
	}
	return append(cs, Case{Name: "gather/same table twice", Build: one(func(b *Builder) *graph.Value {
		table := b.Normal(6, 4)
		return b.Add(b.Gather(table, b.Below(6, 5)), b.Gather(table, b.Below(6, 5)))
	})})
}
