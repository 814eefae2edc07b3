package oracle

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
)

// dropout asks vec which elements stay, by letting it drop from ones.
func dropout(c *call) error {
	a := c.attr().(graph.DropoutAttr)
	kept := make([]float32, len(c.in[0].f))
	for i := range kept {
		kept[i] = 1
	}
	key := vec.RandKey{Seed: c.step.Seed, Step: c.step.Index, Layer: a.Stream}
	vec.Dropout(kept, kept, key, 0, a.Rate)
	for i, x := range c.in[0].f {
		c.out[0].f[i] = 0
		if kept[i] != 0 {
			c.out[0].f[i] = x / (1 - float64(a.Rate))
		}
	}
	return nil
}
