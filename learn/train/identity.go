package train

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"millrace.dev/learn/data"
)

// identity is what two runs must agree on, besides the weights' names and shapes, for one to go
// on where the other stopped.
type identity struct {
	Seed   uint64 `json:"seed"`
	Recipe string `json:"recipe"` // loss, optimizer and batch size
	Data   string `json:"data"`
}

func identify(c *Config) (identity, error) {
	parts := map[string]any{"batch": c.Batch, "loss": c.Loss, "optimizer": c.Optimizer.Rule, "clip": c.Optimizer.Clip}
	if len(c.Losses) > 0 {
		parts["loss"] = c.Losses
	}
	if c.Optimizer.Decay != nil {
		groups := map[string]float64{}
		for _, w := range c.Model.Weights() {
			if !w.State {
				groups[w.Name] = c.Optimizer.Decay(w.Name)
			}
		}
		parts["decay"] = groups
	}
	recipe, err := json.Marshal(parts)
	if err != nil {
		return identity{}, fmt.Errorf("train: %w", err)
	}
	set, err := Fingerprint(c.Train)
	return identity{c.Seed, string(recipe), set}, err
}

// same says in words in what the identity differs from that of a checkpoint.
func (i identity) same(found identity) error {
	switch {
	case i.Data != found.Data:
		return fmt.Errorf("it was trained on other data: %s, not %s", found.Data, i.Data)
	case i.Recipe != found.Recipe:
		return fmt.Errorf("it was trained with %s, not %s", found.Recipe, i.Recipe)
	case i.Seed != found.Seed:
		return fmt.Errorf("it was trained with seed %d, not %d", found.Seed, i.Seed)
	}
	return nil
}

// fingerprintSamples is how many samples, evenly spread, a fingerprint reads.
const fingerprintSamples = 1024

// Fingerprint describes a data set: its size and a hash of all labels and targets and of some
// samples.
func Fingerprint(ds data.Dataset) (string, error) {
	hash := xxh3.New()
	x, y, targets := make([]float32, data.SampleSize(ds)), make([]int32, 1), make([]float32, data.TargetSize(ds))
	every := max(ds.Len()/fingerprintSamples, 1)
	for i := range ds.Len() {
		values := x
		if i%every != 0 {
			values = nil
		}
		if err := ds.Batch(values, y, []int{i}); err != nil {
			return "", err
		}
		if set, ok := ds.(data.Targeted); ok {
			if err := set.Targets(targets, []int{i}); err != nil {
				return "", err
			}
		}
		hashWord(hash, uint32(y[0]))
		for _, list := range [][]float32{values, targets} {
			for _, v := range list {
				hashWord(hash, math.Float32bits(v))
			}
		}
	}
	what := fmt.Sprintf("in %d classes", len(ds.Classes()))
	if len(targets) > 0 {
		what = fmt.Sprintf("with %d targets", len(targets))
	}
	return fmt.Sprintf("%d samples of shape %v %s (%016x)", ds.Len(), ds.Shape(), what, hash.Sum64()), nil
}

func hashWord(hash *xxh3.Hasher, word uint32) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], word)
	hash.Write(b[:])
}
