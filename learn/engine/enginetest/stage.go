package enginetest

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

const steps = 3

func mustTrain(t testing.TB, n net) *Builder {
	t.Helper()
	b, err := n.trained(rules[1].UpdateAttr, rules[1].clip)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unsplit trains a few steps with an ordinary program.
func unsplit(t testing.TB, e engine.Engine, b *Builder) *run {
	t.Helper()
	r := start(t, e, b, b.Graph, engine.Options{})
	if _, err := r.train(b, steps, 0.05); err != nil {
		t.Fatal(err)
	}
	return r
}

// testSplit trains in whole and in split steps and wants the same bits.
func testSplit(t *testing.T, e engine.Engine) {
	for _, n := range nets() {
		b := mustTrain(t, n)
		want := unsplit(t, e, b)
		whole := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true})
		if _, err := whole.train(b, steps, 0.05); err != nil {
			t.Fatal(err)
		}
		sameBits(t, b.Graph, whole, want)
		split := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true, BucketBytes: 256})
		for i := range uint64(steps) {
			b.setStep(i, 0.05)
			copy(split.replica.Input(hyperInput).F32(), b.Floats[hyperInput])
			for _, stage := range []engine.Stage{engine.Backward, engine.Update} {
				before := slices.Clone(split.vectors.Params)
				if err := split.replica.Run(stage, engine.Step{Seed: 3, Index: i}); err != nil {
					t.Fatal(err)
				}
				if changed := !slices.Equal(before, split.vectors.Params); changed != (stage == engine.Update) {
					t.Errorf("%s: stage %d changed the params: %v", n.name, stage, changed)
				}
			}
		}
		sameBits(t, b.Graph, split, want)
	}
}

// testChangedGradients doubles the gradients between the stages, or in the bucket hook, which
// must equal a step at twice the rate.
func testChangedGradients(t *testing.T, e engine.Engine) {
	for _, n := range append(nets(), net{"sum of params", sumOfParams}) {
		b, err := n.trained(rules[0].UpdateAttr, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.setStep(0, 0.125)
		want := start(t, e, b, b.Graph, engine.Options{})
		want.step(t, engine.Step{})
		b.setStep(0, 0.0625)
		between := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true})
		if err := between.replica.Run(engine.Backward, engine.Step{}); err != nil {
			t.Fatal(err)
		}
		double(between.vectors.Grads)
		if err := between.replica.Run(engine.Update, engine.Step{}); err != nil {
			t.Fatal(err)
		}
		hook := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true, BucketBytes: 512})
		hook.replica.OnBucket(func(r engine.Range) { double(hook.vectors.Grads[r.Lo:r.Hi]) })
		hook.step(t, engine.Step{})
		for _, got := range []*run{between, hook} {
			if !slices.Equal(got.vectors.Params, want.vectors.Params) {
				t.Errorf("%s: the update did not use the changed gradients", n.name)
			}
		}
	}
}

// sumOfParams is a loss in which several params share a gradient, and one has none.
func sumOfParams(b *Builder) *graph.Value {
	p, q, r := b.Normal(4, 5), b.Normal(4, 5), b.Normal(20)
	b.Normal(3)
	return b.Loss(b.Add(b.Add(p, q), b.Reshape(r, 4, 5)), b.NormalInput(4, 5), graph.LossAttr{Kind: graph.MSE})
}

// testLateValues computes with the result of clipping: between clipping and the updates, and for
// an output. That belongs to the update stage, which sees the gradients as they are then.
func testLateValues(t *testing.T, e engine.Engine) {
	b := NewBuilder("late values")
	loss := mlp(b)
	b.Output("loss", loss)
	if err := b.Train(loss); err != nil {
		t.Fatal(err)
	}
	grads := []*graph.Value{}
	for _, d := range b.Grads {
		grads = append(grads, d.Value)
	}
	clip := b.Apply("clip_scale", graph.ClipAttr{Max: 0.5}, grads...)
	b.Output("log norm", b.Unary(graph.Log, clip[0]))
	half := b.Mul(clip[1], b.Scalar(0.5))
	b.setStep(0, 0.25)
	hyper := b.Input(hyperInput, graph.F32(graph.HyperLen))
	for _, d := range b.Grads {
		b.Apply("update", rules[0].UpdateAttr, hyper, half, d.Param, d.Value)
	}
	want := start(t, oracle.New(), b, b.Graph, engine.Options{SplitUpdate: true})
	got := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true})
	for _, r := range []*run{want, got} {
		for i := range uint64(2) {
			if err := r.replica.Run(engine.Backward, engine.Step{Index: i}); err != nil {
				t.Fatal(err)
			}
			double(r.vectors.Grads)
			if err := r.replica.Run(engine.Update, engine.Step{Index: i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	near := bound{tol: 1e-5}
	if msg := differ(got.replica.Output("log norm").F32(), want.replica.Output("log norm").F32(), near); msg != "" {
		t.Errorf("log of the gradients' norm: %s", msg)
	}
	if msg := differ(got.vectors.Params, want.vectors.Params, near); msg != "" {
		t.Errorf("params: %s", msg)
	}
}

func double(x []float32) {
	for i := range x {
		x[i] *= 2
	}
}

// testBuckets wants buckets that cover the gradient vector, and each reported once, in order,
// with its final numbers.
func testBuckets(t *testing.T, e engine.Engine) {
	for _, n := range nets() {
		b := mustTrain(t, n)
		for _, size := range []int{0, 1, 300, 1 << 30} {
			r := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true, BucketBytes: size})
			at := 0
			for _, k := range r.program.Buckets() {
				if k.Lo != at || k.Hi <= k.Lo {
					t.Fatalf("%s: bucket %v does not start at %d", n.name, k, at)
				}
				at = k.Hi
			}
			if at != r.program.Layout().ParamLen {
				t.Fatalf("%s: buckets end at %d of %d", n.name, at, r.program.Layout().ParamLen)
			}
			if one := len(r.program.Buckets()) == 1; size == 0 && !one || size == 1 && len(r.program.Buckets()) != len(b.Params) {
				t.Errorf("%s: %d buckets of %d bytes for %d params", n.name, len(r.program.Buckets()), size, len(b.Params))
			}
			var seen []engine.Range
			grads := make([]float32, len(r.vectors.Grads))
			r.replica.OnBucket(func(k engine.Range) {
				seen = append(seen, k)
				copy(grads[k.Lo:k.Hi], r.vectors.Grads[k.Lo:k.Hi])
			})
			if err := r.replica.Run(engine.Backward, engine.Step{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seen, r.program.Buckets()) {
				t.Errorf("%s: buckets %v were reported as %v", n.name, r.program.Buckets(), seen)
			}
			if !slices.Equal(grads, r.vectors.Grads) {
				t.Errorf("%s: a bucket was reported before its gradients were complete", n.name)
			}
		}
	}
}

// testUnsplit wants errors for what needs a split program.
func testUnsplit(t *testing.T, e engine.Engine) {
	b := mustTrain(t, nets()[0])
	r := start(t, e, b, b.Graph, engine.Options{})
	for _, stage := range []engine.Stage{engine.Backward, engine.Update} {
		if r.replica.Run(stage, engine.Step{}) == nil {
			t.Errorf("a program without SplitUpdate ran stage %d", stage)
		}
	}
	r.replica.OnBucket(func(engine.Range) {})
	if r.replica.Run(engine.All, engine.Step{}) == nil {
		t.Error("a program without SplitUpdate took a bucket hook")
	}
}

// testReplicas trains several replicas of one program at the same time, on vectors of their own.
func testReplicas(t *testing.T, e engine.Engine) {
	for _, n := range nets() {
		b := mustTrain(t, n)
		want := unsplit(t, e, b)
		var wg sync.WaitGroup
		runs, errs := make([]*run, 4), make([]error, 4)
		for k := range runs {
			v := want.program.Layout().NewVectors()
			r, err := want.program.NewReplica(v)
			if err != nil {
				t.Fatal(err)
			}
			runs[k] = &run{want.program, r, v}
			b.Bind(r, v)
		}
		hypers := make([][]float32, steps)
		for i := range hypers {
			b.setStep(uint64(i), 0.05)
			hypers[i] = b.Floats[hyperInput]
		}
		for k, r := range runs {
			wg.Go(func() {
				for i, h := range hypers {
					copy(r.replica.Input(hyperInput).F32(), h)
					if errs[k] = r.replica.Run(engine.All, engine.Step{Seed: 3, Index: uint64(i)}); errs[k] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		for k, r := range runs {
			if errs[k] != nil {
				t.Fatal(errs[k])
			}
			sameBits(t, b.Graph, r, want)
		}
	}
}

// testThreads wants the same bits for any number of threads.
func testThreads(t *testing.T, mk Maker) {
	for _, n := range append(nets(), net{"wide", wide}) {
		b := mustTrain(t, n)
		want := unsplit(t, mk(t, 1), b)
		for _, threads := range []int{2, 3, 8} {
			t.Run(fmt.Sprintf("%s/%d", n.name, threads), func(t *testing.T) {
				sameBits(t, b.Graph, unsplit(t, mk(t, threads), b), want)
			})
		}
	}
}

// Fingerprint trains every net of the suite for a few steps and returns a hash of the bits of
// all vectors by the net's name, for comparing engines that must agree exactly.
func Fingerprint(t testing.TB, e engine.Engine) map[string]uint64 {
	t.Helper()
	prints := map[string]uint64{}
	for _, n := range append(nets(), net{"wide", wide}) {
		v := unsplit(t, e, mustTrain(t, n)).vectors
		h := fnv.New64a()
		for _, x := range append([][]float32{v.Params, v.Grads, v.States}, v.Slots...) {
			for _, f := range x {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)))
			}
		}
		prints[n.name] = h.Sum64()
	}
	return prints
}

// testAllocations wants none in a run.
func testAllocations(t *testing.T, e engine.Engine) {
	for _, n := range nets() {
		b := mustTrain(t, n)
		r := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true, BucketBytes: 512})
		total := 0
		r.replica.OnBucket(func(k engine.Range) { total += k.Hi - k.Lo })
		for _, stage := range []engine.Stage{engine.All, engine.Backward, engine.Update} {
			allocs := testing.AllocsPerRun(10, func() {
				if err := r.replica.Run(stage, engine.Step{Seed: 1}); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%s: stage %d allocates %v times", n.name, stage, allocs)
			}
		}
		if total == 0 {
			t.Errorf("%s: no bucket was reported", n.name)
		}
	}
}
