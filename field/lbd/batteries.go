package lbd

import (
	"math"

	"millrace.dev/field/lbd/node"
)

// batteries are what is left in the sensors, in joules.
type batteries struct {
	left []float64
	most float64 // of a full one: the largest at the start
}

// newBatteries fills them and tells the nodes.
func newBatteries(w *Network) *batteries {
	b := &batteries{left: make([]float64, len(w.in.Sensors))}
	for i, s := range w.in.Sensors {
		b.left[i] = s.Energy
		b.most = max(b.most, s.Energy)
	}
	for i := range b.left {
		b.tell(w, i)
	}
	return b
}

// tell rounds up: a living node has more than nothing.
func (b *batteries) tell(w *Network, i int) {
	if b.most > 0 {
		w.SetEnergy(i, uint8(math.Ceil(255*max(b.left[i], 0)/b.most)))
	}
}

// payRound books a round of collection along the ways of now, with the energy model of the instance, tells the nodes what is left, and
// kills those that have nothing; it returns their number.
func (b *batteries) payRound(w *Network) (died int) {
	for i := range b.left {
		if w.Alive(i) {
			b.left[i] -= w.roundEnergy(i)
		}
	}
	for i := range b.left {
		if !w.Alive(i) {
			continue
		}
		if b.tell(w, i); b.left[i] <= 0 {
			w.Kill(i)
			died++
		}
	}
	return died
}

// roundEnergy is what data costs sensor i in a round, in joules: one that is visited uploads its own packets to the sink beside it, which
// hears those around it directly; any other passes on its whole load.
func (w *Network) roundEnergy(i int) float64 {
	v, e, own := w.View(i), &w.in.Energy, w.in.Sensors[i].Weight
	switch {
	case v.Core || v.Root:
		return own * e.Tx(0)
	case v.Parent == node.Nobody:
		return 0
	}
	d := w.stations[i].pos.Dist(w.stations[v.Parent].pos)
	return float64(v.Load)*e.Tx(d) + max(float64(v.Load)-own, 0)*e.Rx()
}
