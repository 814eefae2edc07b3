package main

// affine is (x - mean)·scale + shift.
func affine(a *asm, p *panelArgs) vec {
	return a.mulAdd(a.sub(p.x[0], p.col[0]), p.col[1], p.col[2])
}

// masked is x[0] where the last matrix read is > 0.
func masked(a *asm, p *panelArgs) vec {
	return a.keep(a.compare(gt, p.x[len(p.x)-1], a.constant(0)), p.x[0])
}

// bnGrad adds dy and dy·(x-mean) to the sums.
func bnGrad(a *asm, p *panelArgs, dy vec) []vec {
	a.addTo(p.acc[0], dy)
	a.fmaTo(p.acc[1], dy, a.sub(p.x[1], p.col[0]))
	return nil
}

// bnInput is k·(dy - c0 - (x-mean)·c1).
func bnInput(a *asm, p *panelArgs, dy vec) vec {
	d := a.sub(dy, p.col[2])
	d = a.fnma(a.sub(p.x[1], p.col[0]), p.col[3], d)
	return a.mul(d, p.col[1])
}

const (
	affineParams  = "dst x res mean scale shift"
	bnGradParams  = "sum sumX dy x y mean"
	bnInputParams = "dx dres dy x y mean coef"
)

var panels = []panel{
	affineKernel("affineRows", "x", func(a *asm, p *panelArgs) vec { return affine(a, p) }),
	affineKernel("affineReLURows", "x", func(a *asm, p *panelArgs) vec { return a.relu(affine(a, p)) }),
	affineKernel("affineAddRows", "x res", func(a *asm, p *panelArgs) vec { return a.add(affine(a, p), p.x[1]) }),
	affineKernel("affineAddReLURows", "x res", func(a *asm, p *panelArgs) vec { return a.relu(a.add(affine(a, p), p.x[1])) }),
	{name: "colSum", typ: "colSumKernel", params: "dst x", read: "x", sums: "dst", ways: 4, strided: true,
		body: func(a *asm, p *panelArgs) []vec { a.addTo(p.acc[0], p.x[0]); return nil }},
	{name: "moments", typ: "momentKernel", params: "sum sq x shift", read: "x", cols: "shift", sums: "sum sq", ways: 2,
		body: func(a *asm, p *panelArgs) []vec {
			d := a.sub(p.x[0], p.col[0])
			a.addTo(p.acc[0], d)
			a.fmaTo(p.acc[1], d, d)
			return nil
		}},
	{name: "bnGrad", typ: "bnGradKernel", params: bnGradParams, read: "dy x", cols: "mean", sums: "sum sumX", ways: 2,
		body: func(a *asm, p *panelArgs) []vec { return bnGrad(a, p, p.x[0]) }},
	{name: "bnGradMasked", typ: "bnGradKernel", params: bnGradParams, read: "dy x y", cols: "mean", sums: "sum sumX", ways: 2,
		body: func(a *asm, p *panelArgs) []vec { return bnGrad(a, p, masked(a, p)) }},
	{name: "bnInput", typ: "bnInputsKernel", params: bnInputParams, read: "dy x", written: "dx", cols: "mean", coefs: 3, ways: 2,
		body: func(a *asm, p *panelArgs) []vec { return []vec{bnInput(a, p, p.x[0])} }},
	{name: "bnInputMasked", typ: "bnInputsKernel", params: bnInputParams, read: "dy x y", written: "dx", cols: "mean", coefs: 3, ways: 2,
		body: func(a *asm, p *panelArgs) []vec { return []vec{bnInput(a, p, masked(a, p))} }},
	{name: "bnInputResidual", typ: "bnInputsKernel", params: bnInputParams, read: "dy x y", written: "dx dres", cols: "mean", coefs: 3, ways: 2,
		body: func(a *asm, p *panelArgs) []vec {
			dy := masked(a, p)
			return []vec{bnInput(a, p, dy), dy}
		}},
	{name: "lnGrad", typ: "lnGradKernel", params: "sum sumX dy x mean invStd", read: "dy x", rowwise: "mean invStd", sums: "sum sumX", ways: 2,
		body: func(a *asm, p *panelArgs) []vec {
			a.addTo(p.acc[0], p.x[0])
			a.fmaTo(p.acc[1], p.x[0], a.mul(a.sub(p.x[1], p.row[0]), p.row[1]))
			return nil
		}},
}

// affineKernel is a map with the column vectors mean, scale and shift, which may be nil.
func affineKernel(name, read string, f func(a *asm, p *panelArgs) vec) panel {
	return panel{name: name, typ: "affineKernel", params: affineParams, read: read, written: "dst", cols: "mean scale shift",
		optional: "mean scale shift", defaults: []float64{0, 1, 0}, ways: 2,
		body: func(a *asm, p *panelArgs) []vec { return []vec{f(a, p)} }}
}

func emitPanels(a *asm, names *registry) {
	for _, k := range panels {
		k.emit(a)
		names.add(k.name, k.typ)
	}
}
