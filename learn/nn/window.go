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
	stride := orOne(c.Stride, 1)
	win, ok := window(b, in, [2]int{kh, kw}, [2]int{stride, stride}, orOne(c.Dilation, 1), c.Pad, c.Pads)
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

// MaxPool takes the maximum of each window. Zero Stride means that windows do not overlap.
type MaxPool struct {
	Size   int     // rows and columns of the window
	Size2  int     `json:",omitempty"` // columns, where they differ from the rows
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
	taps := [2]int{p.Size, orOne(p.Size2, p.Size)}
	win, ok := poolWindow(b, in, taps, p.Stride, p.Pad, p.Pads)
	if !ok {
		return nil
	}
	return one(b.Graph.MaxPool(x, taps, win))
}

// AvgPool takes the mean of each window. Zero Stride means that windows do not overlap. Padding
// does not count unless CountPad is set.
type AvgPool struct {
	Size     int     // rows and columns of the window
	Size2    int     `json:",omitempty"` // columns, where they differ from the rows
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
	taps := [2]int{p.Size, orOne(p.Size2, p.Size)}
	win, ok := poolWindow(b, in, taps, p.Stride, p.Pad, p.Pads)
	if !ok {
		return nil
	}
	return one(b.Graph.AvgPool(x, taps, win, p.CountPad))
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

// GlobalMaxPool is the maximum over rows and columns: [H W C] → [C].
type GlobalMaxPool struct{}

// Kind is "global_max_pool".
func (GlobalMaxPool) Kind() string { return "global_max_pool" }

// On applies the layer without a name.
func (p GlobalMaxPool) On(x *Node) *Node { return Apply(p, x) }

// maxTaps bounds the window of one pooling operation.
const maxTaps = 255

// Build appends the layer: one pool where the image is small enough, else down the columns and
// then along the row that is left.
func (GlobalMaxPool) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 4)
	if !ok {
		return nil
	}
	s := x.Shape()
	pool := func(rows, columns int) {
		taps := [2]int{rows, columns}
		w := graph.Window{Stride: taps, Dilation: [2]int{1, 1}}
		x = b.Graph.MaxPool(x, taps, w.Same(x.Shape()[1], x.Shape()[2], rows, columns))
	}
	if rows, columns := s[1], s[2]; rows > 0 && columns > 0 && rows <= maxTaps/columns {
		pool(rows, columns)
	}
	for b.Graph.Err() == nil && x.Shape()[1] > 1 {
		pool(min(x.Shape()[1], maxTaps), 1)
	}
	for b.Graph.Err() == nil && x.Shape()[2] > 1 {
		pool(1, min(x.Shape()[2], maxTaps))
	}
	return one(b.Graph.Reshape(x, s[0], s[3]))
}

func orOne(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}

// poolWindow is a pool's window; zero stride means the window's own size.
func poolWindow(b *Builder, in []*graph.Value, taps [2]int, stride int, pad Padding, pads [4]int) (graph.Window, bool) {
	return window(b, in, taps, [2]int{orOne(stride, taps[0]), orOne(stride, taps[1])}, 1, pad, pads)
}

func window(b *Builder, in []*graph.Value, taps, stride [2]int, dilation int, pad Padding, pads [4]int) (graph.Window, bool) {
	w := graph.Window{Stride: stride, Dilation: [2]int{dilation, dilation}}
	if least, most := min(taps[0], taps[1], stride[0], stride[1], dilation), max(taps[0], taps[1], stride[0], stride[1], dilation); least < 1 || most > maxWindow {
		b.Failf(in, "window %d×%d, stride %d×%d and dilation %d must be from 1 to %d", taps[0], taps[1], stride[0], stride[1], dilation, maxWindow)
		return w, false
	}
	switch pad {
	case Valid:
	case Same:
		w = w.Same(in[0].Shape()[1], in[0].Shape()[2], taps[0], taps[1])
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
