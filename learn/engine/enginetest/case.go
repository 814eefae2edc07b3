package enginetest

import (
	"millrace.dev/learn/graph"
)

// Case is an operation in a form that any engine must compute.
type Case struct {
	Name string
	// Build applies the operation to operands of the builder and returns the results.
	Build func(b *Builder) []*graph.Value
	// NoGrad says that the operation has no gradient.
	NoGrad bool
	// Kinks says that the results are not differentiable at the numbers given, so that the
	// gradient is one of convention.
	Kinks bool
	// Relative says that every element must be right relative to itself, not only to the largest.
	Relative bool
	// Cancels is the size of the terms that cancel each other in the gradients, where these are
	// much smaller; their rounding errors stay.
	Cancels float64
}

// Cases lists all cases.
func Cases() []Case {
	cs := []Case{}
	for _, family := range [][]Case{
		unaryCases(), binaryCases(), reduceCases(), matmulCases(), convCases(), poolCases(),
		normCases(), softmaxCases(), moveCases(), rowCases(), castCases(), dropoutCases(),
	} {
		cs = append(cs, family...)
	}
	return cs
}

// one is a Build that returns a single value.
func one(f func(b *Builder) *graph.Value) func(b *Builder) []*graph.Value {
	return func(b *Builder) []*graph.Value { return []*graph.Value{f(b)} }
}
