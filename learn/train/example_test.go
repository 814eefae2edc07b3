package train_test

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/saved"
	"millrace.dev/learn/train"
)

// Train a network on the embedded images, measure it, save it, and use it.
func Example() {
	if err := trainAndUse(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 60 steps, better than 70 %: true
	// 10 probabilities for a sample of class Ankle boot
}

func trainAndUse() error {
	set, err := data.Open(data.DefaultName, data.Options{})
	if err != nil {
		return err
	}
	norm, err := data.MeasureNorm(set.Train)
	if err != nil {
		return err
	}
	samples, err := data.Normalize(set.Train, norm)
	if err != nil {
		return err
	}
	tests, err := data.Normalize(set.Test, norm)
	if err != nil {
		return err
	}
	model, err := nn.ByName("mlp", set.Train.Shape(), len(set.Train.Classes()))
	if err != nil {
		return err
	}
	e, err := cpu.New(0) // every core
	if err != nil {
		return err
	}
	defer e.Close()

	trainer, err := train.New(train.Config{
		Model: model, Optimizer: optim.Adam(), Schedule: optim.OneCycle(0.005, 60),
		Train: samples, Batch: 64, Steps: 60, Seed: 1, Engine: e,
	})
	if err != nil {
		return err
	}
	if err := trainer.Run(context.Background()); err != nil {
		return err
	}
	m, err := trainer.Evaluate(context.Background(), tests, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%d steps, better than 70 %%: %v\n", trainer.State().Step, m.Accuracy() > 0.7)

	var file bytes.Buffer // or a file: WriteFile and Open
	keep := &saved.Model{Net: model, Vectors: trainer.Vectors(), Classes: set.Train.Classes(), Norm: norm}
	if err := keep.Write(&file); err != nil {
		return err
	}
	again, err := saved.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		return err
	}
	p, err := saved.NewPredictor(e, again)
	if err != nil {
		return err
	}
	sample, label := make([]float32, data.SampleSize(set.Test)), make([]int32, 1)
	if err := set.Test.Batch(sample, label, []int{0}); err != nil {
		return err
	}
	probabilities, err := p.Predict(sample)
	fmt.Printf("%d probabilities for a sample of class %s\n", len(probabilities), again.Classes[label[0]])
	return err
}

// Predict numbers and a class from two inputs: how far a throw goes, and whether that is far.
func Example_targets() {
	if err := trainThrows(); err != nil {
		fmt.Println(err)
	}
	// Output: a throw of speed 4 at 45° goes 16 m: true, which is far: true
}

func trainThrows() error {
	// A row of values holds those of all inputs, a row of targets those of all outputs.
	var values, targets []float32
	for i := range 1000 {
		speed, angle := 5*float64(i%40)/40, math.Pi/2*float64(i%25)/25
		distance := speed * speed * math.Sin(2*angle)
		far := 0
		if distance > 8 {
			far = 1
		}
		values = append(values, float32(speed), float32(angle))
		targets = append(targets, float32(distance), float32(far))
	}
	samples, err := data.NewNumbers("throws", values, []int{2}, targets, 2)
	if err != nil {
		return err
	}

	speed, angle := nn.Input("speed", 1), nn.Input("angle", 1)
	h := nn.Dense{Units: 64, Act: nn.Tanh}.On(nn.Concat{}.On(speed, angle))
	h = nn.Dense{Units: 64, Act: nn.Tanh}.On(h)
	model, err := nn.NewModel("throws", nn.In(speed, angle), nn.Out(nn.Dense{Units: 1}.On(h), nn.Dense{Units: 2}.On(h)))
	if err != nil {
		return err
	}
	e, err := cpu.New(0)
	if err != nil {
		return err
	}
	defer e.Close()
	trainer, err := train.New(train.Config{
		Model: model, Losses: []nn.Loss{{Kind: nn.Huber, Delta: 1}, {Kind: nn.CrossEntropy, Weight: 0.5}},
		Optimizer: optim.Adam(), Schedule: optim.OneCycle(0.01, 1600),
		Train: samples, Batch: 50, Epochs: 80, Seed: 1, Engine: e,
	})
	if err != nil {
		return err
	}
	if err := trainer.Run(context.Background()); err != nil {
		return err
	}

	p, err := saved.NewPredictor(e, &saved.Model{Net: model, Vectors: trainer.Vectors()})
	if err != nil {
		return err
	}
	out, err := p.Predict([]float32{4, math.Pi / 4}) // distance, logits of near and far
	if err != nil {
		return err
	}
	fmt.Printf("a throw of speed 4 at 45° goes 16 m: %v, which is far: %v\n", math.Abs(float64(out[0])-16) < 1, out[2] > out[1])
	return nil
}

// A loop of one's own: y = 3a − 2b + 1, from samples that are made on the way.
func Example_ownLoop() {
	if err := fitPlane(); err != nil {
		fmt.Println(err)
	}
	// Output: weights 3.00 -2.00, bias 1.00
}

func fitPlane() error {
	const batch = 32
	model, err := nn.Sequential("plane", nn.Input("x", 2), nn.Dense{Units: 1})
	if err != nil {
		return err
	}
	g := graph.New()
	out := model.Graph(g, batch, nn.Train).Outputs[0]
	loss := nn.Loss{Kind: nn.MSE}
	target := g.Input("y", loss.Target(out.Spec))
	if err := g.Train(loss.Apply(g, out, target)); err != nil {
		return err
	}
	if err := optim.SGD(0.9).Apply(g); err != nil {
		return err
	}

	e, err := cpu.New(1)
	if err != nil {
		return err
	}
	defer e.Close()
	program, err := e.Compile(g, engine.Options{})
	if err != nil {
		return err
	}
	v := program.Layout().NewVectors()
	if err := model.Init(v, 1); err != nil {
		return err
	}
	replica, err := program.NewReplica(v)
	if err != nil {
		return err
	}
	x, y, hyper := replica.Input("x").F32(), replica.Input("y").F32(), replica.Input(optim.HyperInput).F32()
	rate := optim.Cosine(0.1, 0, 200)
	for step := range 200 {
		for i := range batch {
			a, b := float32((step+i)%7)/7, float32((step*3+i)%5)/5
			x[2*i], x[2*i+1], y[i] = a, b, 3*a-2*b+1
		}
		optim.Hyper(hyper, step, rate(step))
		if err := replica.Run(engine.All, engine.Step{Seed: 1, Index: uint64(step)}); err != nil {
			return err
		}
	}
	w, bias := v.Param("plane/dense_1/kernel"), v.Param("plane/dense_1/bias")
	fmt.Printf("weights %.2f %.2f, bias %.2f\n", w[0], w[1], bias[0])
	return nil
}
