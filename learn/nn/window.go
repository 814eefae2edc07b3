package nn

import (
	"slices"

	"millrace.dev/learn/graph"
)

// maxWindow bounds the numbers that describe a window.
const maxWindow = 1 << 16

// Padding says how many zeros stand around an image: "valid" or "" none, "same" as many as
// make the output ⌈in/stride⌉ (the odd one at the bottom and right), "explicit" what Pads says.
type Padding string

// The paddings.
const (
	Valid    Padding = ""
	Same     Padding = "same"
	Explicit Padding = "explicit"
)

// Conv2D convolves images [H W C] → [OH OW Filters] and adds a bias. Zero Stride, Dilation and
// Groups mean 1.
type Conv2D struct {
	Filters  int
	Kernel   int     // rows and columns of the filter
	Kernel2  int     `json:",omitempty"` // columns, where they differ from the rows
	Stride   int     `json:",omitempty"`
	Dilation int     `json:",omitempty"`
	Groups   int     `json:",omitempty"`
	Pad      Padding `json:",omitempty"`
	Pads     [4]int  `json:",omitzero"` // top, bottom, left, right for Explicit
	Act      Act     `json:",omitempty"`
	NoBias   bool    `json:",omitempty"`
	Init     Init    `json:",omitzero"` // the zero value is He normal
}

// Kind is "conv2d".
func (Conv2D) Kind() string { return "conv2d" }

// On applies the layer without a name.
func (c Conv2D) On(x *Node) *Node { return Apply(c, x) }

// Build appends the layer.
func (c Conv2D) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 4)
	if !ok {
		return nil
	}
	kh, kw, groups := c.Kernel, orOne(c.Kernel2, c.Kernel), orOne(c.Groups, 1)
	ch := x.Shape()[3]
	if c.Filters < 1 {
		return b.Failf(in, "needs filters ≥ 1, got %d", c.Filters)
	}
	if groups < 1 || ch%groups != 0 || c.Filters%groups != 0 {
		return b.Failf(in, "%d groups do not divide %d channels and %d filters", groups, ch, c.Filters)
	}
	win, ok := window(b, in, kh, kw, c.Stride, c.Dilation, c.Pad, c.Pads)
	if !ok {
		return nil
	}
	g := b.Graph
	y := g.Conv2D(x, b.Param("kernel", c.Init.or(HeNormal()), kh, kw, ch/groups, c.Filters), win, groups)
	if !c.NoBias {
		y = g.Add(y, b.Bias("bias", Zeros(), c.Filters))
	}
	return one(c.Act.on(g, y))
}

// DepthwiseConv2D convolves each channel with Multiplier filters of its own.
type DepthwiseConv2D struct {
	Kernel     int
	Multiplier int     `json:",omitempty"` // 0 means 1
	Stride     int     `json:",omitempty"`
	Dilation   int     `json:",omitempty"`
	Pad        Padding `json:",omitempty"`
	Pads       [4]int  `json:",omitzero"`
	Act        Act     `json:",omitempty"`
	NoBias     bool    `json:",omitempty"`
	Init       Init    `json:",omitzero"`
}

// Kind is "depthwise_conv2d".
func (DepthwiseConv2D) Kind() string { return "depthwise_conv2d" }

// On applies the layer without a name.
func (d DepthwiseConv2D) On(x *Node) *Node { return Apply(d, x) }

// Build appends the layer.
func (d DepthwiseConv2D) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 4)
	if !ok {
		return nil
	}
	ch, m := x.Shape()[3], orOne(d.Multiplier, 1)
	if m < 1 || m > maxWindow {
		return b.Failf(in, "a multiplier of %d is out of range", m)
	}
	return Conv2D{
		Filters: ch * m, Kernel: d.Kernel, Stride: d.Stride, Dilation: d.Dilation,
		Groups: ch, Pad: d.Pad, Pads: d.Pads, Act: d.Act, NoBias: d.NoBias, Init: d.Init,
	}.Build(b, in)
}

// MaxPool takes the maximum of each Size×Size window; zero Stride means Size.
type MaxPool struct {
	Size   int
	Stride int     `json:",omitempty"`
	Pad    Padding `json:",omitempty"`
	Pads   [4]int  `json:",omitzero"`
}

// Kind is "max_pool".
func (MaxPool) Kind() string { return "max_pool" }

// On applies the layer without a name.
func (p MaxPool) On(x *Node) *Node { return Apply(p, x) }

// Build appends the layer.
func (p MaxPool) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 4)
	if !ok {
		return nil
	}
	win, ok := window(b, in, p.Size, p.Size, orOne(p.Stride, p.Size), 1, p.Pad, p.Pads)
	if !ok {
		return nil
	}
	return one(b.Graph.MaxPool(x, [2]int{p.Size, p.Size}, win))
}

// AvgPool takes the mean of each Size×Size window; zero Stride means Size. Padding does not
// count unless CountPad is set.
type AvgPool struct {
	Size     int
	Stride   int     `json:",omitempty"`
	Pad      Padding `json:",omitempty"`
	Pads     [4]int  `json:",omitzero"`
	CountPad bool    `json:",omitempty"`
}

// Kind is "avg_pool".
func (AvgPool) Kind() string { return "avg_pool" }

// On applies the layer without a name.
func (p AvgPool) On(x *Node) *Node { return Apply(p, x) }

// Build appends the layer.
func (p AvgPool) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 4)
	if !ok {
		return nil
	}
	win, ok := window(b, in, p.Size, p.Size, orOne(p.Stride, p.Size), 1, p.Pad, p.Pads)
	if !ok {
		return nil
	}
	return one(b.Graph.AvgPool(x, [2]int{p.Size, p.Size}, win, p.CountPad))
}

// GlobalAvgPool is the mean over rows and columns: [H W C] → [C].
type GlobalAvgPool struct{}

// Kind is "global_avg_pool".
func (GlobalAvgPool) Kind() string { return "global_avg_pool" }

// On applies the layer without a name.
func (p GlobalAvgPool) On(x *Node) *Node { return Apply(p, x) }

// Build appends the layer.
func (GlobalAvgPool) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 4)
	if !ok {
		return nil
	}
	return one(b.Graph.Mean(x, 1, 2))
}

func orOne(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}

func window(b *Builder, in []*graph.Value, kh, kw, stride, dilation int, pad Padding, pads [4]int) (graph.Window, bool) {
	s, d := orOne(stride, 1), orOne(dilation, 1)
	w := graph.Window{Stride: [2]int{s, s}, Dilation: [2]int{d, d}}
	if min(kh, kw, s, d) < 1 || max(kh, kw, s, d) > maxWindow {
		b.Failf(in, "kernel %d×%d, stride %d and dilation %d must be from 1 to %d", kh, kw, s, d, maxWindow)
		return w, false
	}
	switch pad {
	case Valid:
	case Same:
		w = w.Same(in[0].Shape()[1], in[0].Shape()[2], kh, kw)
	case Explicit:
		w.Pad = pads
		if slices.Min(pads[:]) < 0 || slices.Max(pads[:]) > maxWindow {
			b.Failf(in, "pads %v must be from 0 to %d", pads, maxWindow)
			return w, false
		}
	default:
		b.Failf(in, "unknown padding %q", pad)
		return w, false
	}
	return w, true
}
