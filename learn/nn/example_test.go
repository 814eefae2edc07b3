package nn_test

import (
	"encoding/json"
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
)

// A small residual network: layers are structs, applied to nodes with On.
func Example() {
	image := nn.Input("image", 28, 28, 1)
	x := nn.Conv2D{Filters: 16, Kernel: 3, Stride: 2, Pad: nn.Same, Act: nn.ReLU}.On(image)
	y := nn.Conv2D{Filters: 16, Kernel: 3, Pad: nn.Same, NoBias: true}.On(x)
	y = nn.BatchNorm{}.On(y)
	y = nn.Add{Act: nn.ReLU}.On(x, y)
	y = nn.GlobalAvgPool{}.On(y)
	m, err := nn.NewModel("small", nn.In(image), nn.Out(nn.Dense{Units: 10}.On(y)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(m)
	// Output:
	// model small
	// layer              kind             output      weights  applied to
	// image              input            [28 28 1]
	// conv2d_1           conv2d           [14 14 16]  160      image
	// conv2d_2           conv2d           [14 14 16]  2304     conv2d_1
	// batch_norm_1       batch_norm       [14 14 16]  64       conv2d_2
	// add_1              add              [14 14 16]  0        conv2d_1 batch_norm_1
	// global_avg_pool_1  global_avg_pool  [16]        0        add_1
	// dense_1            dense            [10]        170      global_avg_pool_1
	// 2666 weights to train, 32 kept
}

// Two images go through one encoder, which is a model of its own: applied twice as one layer,
// it has one set of weights.
func ExampleModel_siamese() {
	in := nn.Input("image", 12, 12, 1)
	encoder, err := nn.Sequential("encoder", in, nn.Flatten{}, nn.Dense{Units: 32, Act: nn.ReLU})
	if err != nil {
		fmt.Println(err)
		return
	}
	left, right := nn.Input("left", 12, 12, 1), nn.Input("right", 12, 12, 1)
	twin := nn.NewLayer("twin", encoder)
	both := nn.Concat{}.On(twin.On(left), twin.On(right))
	m, err := nn.NewModel("siamese", nn.In(left, right), nn.Out(nn.Dense{Units: 1}.On(both)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range m.Weights() {
		fmt.Println(w.Name, w.Shape)
	}
	// Output:
	// siamese/twin/dense_1/kernel [144 32]
	// siamese/twin/dense_1/bias [32]
	// siamese/dense_1/kernel [64 1]
	// siamese/dense_1/bias [1]
}

// Gain is a layer of one's own: it multiplies every channel by a factor that is trained.
type Gain struct{ Start float32 }

// Kind names the layer in saved models.
func (Gain) Kind() string { return "gain" }

// Build appends the layer's operations.
func (l Gain) Build(b *nn.Builder, in []*graph.Value) []*graph.Value {
	if len(in) != 1 {
		return b.Failf(in, "gain takes one input")
	}
	factor := b.Param("factor", nn.Constant(l.Start), in[0].Shape().Last())
	return []*graph.Value{b.Graph.Mul(in[0], factor)}
}

func ExampleRegister() {
	if err := nn.Register[Gain](); err != nil {
		fmt.Println(err)
		return
	}
	m, err := nn.Sequential("amplifier", nn.Input("x", 4), Gain{Start: 2}, nn.Dense{Units: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := json.Marshal(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := nn.ParseModel(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Weights()[0].Name, again.NumParams())
	// Output: amplifier/gain_1/factor 9
}

// What does not fit is an error with the layer's path and the shapes.
func ExampleSequential() {
	_, err := nn.Sequential("net", nn.Input("image", 28, 28, 1),
		nn.Conv2D{Filters: 8, Kernel: 5}, nn.Conv2D{Filters: 8, Kernel: 40})
	fmt.Println(err)
	// Output: net/conv2d_2: conv2d(f32[2 24 24 8], f32[40 40 8 8]): rows: window of 40 taps, dilation 1, does not fit into 24 with padding 0+0
}
