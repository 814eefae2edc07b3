package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/tensor"
	"millrace.dev/learn/train"
)

// batches of random data are used in turn.
const batches = 8

// learningRate and the momentum in build are the peers' too.
const learningRate = 0.01

var samples = map[string]tensor.Shape{"mlp": {28, 28, 1}, "lenet": {28, 28, 1}, "resnet20": {32, 32, 3}}

type builder struct{ engine *cpu.Engine }

// build makes a row ready: MODEL/B=BATCH for the variant step, MxNxK[:tA][:tB] for gemm. It gives the
// number of parameters too.
func (b builder) build(row, variant string) (runner, int, error) {
	switch variant {
	case "step":
		return b.step(row)
	case "gemm":
		run, err := b.gemm(row)
		return run, 0, err
	}
	return nil, 0, fmt.Errorf("unknown variant %q", variant)
}

func (b builder) step(row string) (runner, int, error) {
	name, size, ok := strings.Cut(row, "/B=")
	batch, err := strconv.Atoi(size)
	if !ok || err != nil {
		return nil, 0, fmt.Errorf("row %q is not MODEL/B=BATCH", row)
	}
	model, err := nn.ByName(name, samples[name], 10)
	if err != nil {
		return nil, 0, err
	}
	graph, err := train.StepGraph(model, batch, []nn.Loss{{}}, optim.SGD(0.9))
	if err != nil {
		return nil, 0, err
	}
	program, err := b.engine.Compile(graph, engine.Options{})
	if err != nil {
		return nil, 0, err
	}
	vectors := program.Layout().NewVectors()
	if err := model.Init(vectors, 1); err != nil {
		return nil, 0, err
	}
	replica, err := program.NewReplica(vectors)
	if err != nil {
		return nil, 0, err
	}
	params := 0
	for _, p := range program.Layout().Params {
		params += p.Len()
	}
	return stepper(replica, model.InputName(0)), params, nil
}

func stepper(replica engine.Replica, input string) runner {
	x, labels := replica.Input(input).F32(), replica.Input(train.TargetInput).I32()
	hyper, loss := replica.Input(optim.HyperInput).F32(), replica.Output(train.LossOutput).F32()
	random := rand.New(rand.NewPCG(1, 2))
	var xs [batches][]float32
	var ys [batches][]int32
	for i := range batches {
		xs[i], ys[i] = make([]float32, len(x)), make([]int32, len(labels))
		for j := range xs[i] {
			xs[i][j] = 0.1 * float32(random.NormFloat64())
		}
		for j := range ys[i] {
			ys[i][j] = random.Int32N(10)
		}
	}
	done := 0
	return func(steps int) (float64, error) {
		for i := range steps {
			copy(x, xs[i%batches])
			copy(labels, ys[i%batches])
			optim.Hyper(hyper, done, learningRate)
			if err := replica.Run(engine.All, engine.Step{Seed: 1, Index: uint64(done)}); err != nil {
				return 0, err
			}
			done++
		}
		return float64(loss[0]), nil
	}
}
