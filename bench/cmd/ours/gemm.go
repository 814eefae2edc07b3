package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// gemm is a program of one matrix product, run the way a model's products are.
func (b builder) gemm(row string) (runner, error) {
	var m, n, k int
	shape, flags, _ := strings.Cut(row, ":")
	if _, err := fmt.Sscanf(shape, "%dx%dx%d", &m, &n, &k); err != nil {
		return nil, fmt.Errorf("row %q is not MxNxK: %w", row, err)
	}
	attr := graph.MatMulAttr{TransA: strings.Contains(flags, "tA"), TransB: strings.Contains(flags, "tB")}
	operand := func(g *graph.Graph, name string, rows, cols int, transposed bool) *graph.Value {
		if transposed {
			rows, cols = cols, rows
		}
		return g.Input(name, graph.Spec{DType: tensor.Float32, Shape: tensor.Shape{rows, cols}})
	}
	g := graph.New()
	g.Output("c", g.Apply("matmul", attr, operand(g, "a", m, k, attr.TransA), operand(g, "b", k, n, attr.TransB))[0])
	if err := g.Err(); err != nil {
		return nil, err
	}
	program, err := b.engine.Compile(g, engine.Options{})
	if err != nil {
		return nil, err
	}
	replica, err := program.NewReplica(program.Layout().NewVectors())
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"a", "b"} {
		x := replica.Input(name).F32()
		for i := range x {
			x[i] = 2*random.Float32() - 1
		}
	}
	c := replica.Output("c").F32()
	return func(steps int) (float64, error) {
		for range steps {
			if err := replica.Run(engine.All, engine.Step{}); err != nil {
				return 0, err
			}
		}
		return float64(c[0]), nil
	}, nil
}
