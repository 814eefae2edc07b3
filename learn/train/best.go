package train

import (
	"math"
	"slices"

	"millrace.dev/learn/engine"
)

// Best is the epoch after which the validation loss was lowest.
type Best struct {
	Epoch int     `json:"epoch"` // counted from 1; 0 for none
	Loss  float64 `json:"loss"`
}

// keepBest copies the weights when the run may stop early and an epoch has the lowest validation
// loss so far.
func (t *Trainer) keepBest(e Epoch) {
	loss := e.Valid.Loss()
	if t.cfg.Stop == nil || e.Valid.Samples == 0 || math.IsNaN(loss) ||
		t.state.Best.Epoch > 0 && loss >= t.state.Best.Loss {
		return
	}
	t.state.Best = Best{e.Number, loss}
	if t.best == nil {
		t.best = weightsLike(t.vectors)
	}
	copy(t.best.Params, t.vectors.Params)
	copy(t.best.States, t.vectors.States)
}

// keptBest is the best epoch's weights, nil before there is one.
func (t *Trainer) keptBest() *engine.Vectors {
	if t.state.Best.Epoch == 0 {
		return nil
	}
	return t.best
}

// useBest makes the best epoch's weights the result of a run that has ended. Its last checkpoint,
// which is written before, holds both, so that a run that is resumed after its end ends the same.
func (t *Trainer) useBest() {
	if t.cfg.Stop != nil && t.keptBest() != nil {
		copy(t.vectors.Params, t.best.Params)
		copy(t.vectors.States, t.best.States)
	}
}

// weightsLike makes vectors for a copy of the weights alone.
func weightsLike(v *engine.Vectors) *engine.Vectors {
	return &engine.Vectors{Layout: v.Layout, Params: slices.Clone(v.Params), States: slices.Clone(v.States)}
}
