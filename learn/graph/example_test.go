package graph_test

import (
	"fmt"
	"math"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// ExampleRegister adds an operation of one's own, softplus, and differentiates through it.
func ExampleRegister() {
	err := graph.Register(graph.OpDef{
		Name: "softplus",
		Infer: func(in []graph.Spec, _ any) ([]graph.Spec, error) {
			if len(in) != 1 || in[0].DType != tensor.Float32 {
				return nil, fmt.Errorf("wants one f32 operand")
			}
			return in, nil
		},
		// The derivative of log(1+eˣ) is the sigmoid, which the graph has already.
		VJP: func(g *graph.Graph, n *graph.Node, dy []*graph.Value) []*graph.Value {
			return []*graph.Value{g.Mul(dy[0], g.Unary(graph.Sigmoid, n.In[0]))}
		},
		Forward: func(_ any, in, out []*tensor.Tensor) error {
			for i, x := range in[0].F32() {
				out[0].F32()[i] = float32(math.Log1p(math.Exp(float64(x))))
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	g := graph.New()
	x := g.Param("x", 3)
	loss := g.Sum(g.Apply("softplus", nil, x)[0])
	g.Output("loss", loss)
	if err := g.Train(loss); err != nil {
		fmt.Println(err)
		return
	}

	program, err := oracle.New().Compile(g, engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := program.Layout().NewVectors()
	copy(v.Param("x"), []float32{-1, 0, 1})
	replica, err := program.NewReplica(v)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := replica.Run(engine.All, engine.Step{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.4f, gradient %.4f\n", replica.Output("loss").F32()[0], v.Grad("x"))
	// Output: loss 2.3197, gradient [0.2689 0.5000 0.7311]
}

// ExampleGraph_String prints a small graph with its gradient.
func ExampleGraph_String() {
	g := graph.New()
	g.Scope("dense", func() {
		y := g.MatMul(g.Input("x", graph.F32(4, 2)), g.Param("w", 2, 3))
		g.Output("loss", g.Sum(g.Unary(graph.Relu, g.Add(y, g.Param("b", 3)))))
	})
	optimised, err := graph.Optimize(g)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(optimised)
	// Output:
	// %0 f32[4 2] = input "x"  # dense
	// %1 f32[2 3] = param "w"  # dense
	// %2 f32[3] = param "b"  # dense
	// %3 f32[4 3] = matmul{Bias:true Act:relu} %0 %1 %2  # dense
	// %4 f32[] = reduce{Kind:sum Axes:[0 1]} %3  # dense
	// output "loss" %4
}
