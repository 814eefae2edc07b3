package train

import (
	"millrace.dev/learn/data"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/tensor"
)

// Fits checks that a model of one output takes the samples of a data set and has a logit for
// each class.
func Fits(m *nn.Model, set data.Dataset) error {
	if m.NumOutputs() != 1 {
		return configErrorf("model %s has %d outputs; a data set with classes is for one", m.Name, m.NumOutputs())
	}
	return fits(m, []nn.Loss{{}}, set)
}

// fits checks that a model takes the samples of a data set, and that these have the targets that
// the losses of its outputs need.
func fits(m *nn.Model, losses []nn.Loss, set data.Dataset) error {
	if err := takes(m, set); err != nil {
		return err
	}
	if have := data.TargetSize(set); have > 0 {
		if want := targetSize(m, losses); have != want {
			return configErrorf("each sample of the data set has %d targets, the outputs of model %s need %d", have, m.Name, want)
		}
		return nil
	}
	if len(losses) > 1 {
		return configErrorf("model %s has %d outputs, which need targets; data set samples have a class each", m.Name, len(losses))
	}
	if !losses[0].Classifies() {
		return configErrorf("the loss %q needs targets of numbers; the data set has class labels", losses[0].Kind)
	}
	if out := m.OutputShape(0); len(out) != 1 || out[0] != len(set.Classes()) {
		return configErrorf("model %s gives %v for a sample, the data set has %d classes", m.Name, out, len(set.Classes()))
	}
	return nil
}

// takes checks that samples have the shape of the model's input, or, without a shape of their
// own, as many values as all its inputs together.
func takes(m *nn.Model, set data.Dataset) error {
	shape := tensor.Shape(set.Shape())
	if m.NumInputs() == 1 && m.InputShape(0).Equal(shape) {
		return nil
	}
	size := 0
	for i := range m.NumInputs() {
		size += m.InputShape(i).Elems()
	}
	switch {
	case len(shape) == 1 && shape[0] == size:
		return nil
	case m.NumInputs() == 1:
		return configErrorf("%s/%s wants samples of shape %v, the data set has %v", m.Name, m.InputName(0), m.InputShape(0), shape)
	}
	return configErrorf("the %d inputs of model %s want samples of shape %v, the data set has %v", m.NumInputs(), m.Name, tensor.Shape{size}, shape)
}

// targetSize is how many targets a sample has for the outputs of a model.
func targetSize(m *nn.Model, losses []nn.Loss) int {
	n := 0
	for i, l := range losses {
		n += l.Target(graph.F32(m.OutputShape(i)...)).Shape.Elems()
	}
	return n
}
