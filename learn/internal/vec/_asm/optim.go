package main

// The optimisers' updates; see optim.go of package vec.
var optimisers = []stream{
	{name: "sgd", typ: "sgdKernel", slices: "w g", in: "w g", out: "w", scalars: "scale decay lr", unroll: 2,
		body: func(a *asm, x, s []vec) []vec {
			d := a.gradient(x[0], x[1], s[0], s[1])
			return []vec{a.fnma(d, s[2], x[0])}
		}},
	{name: "momentum", typ: "momentumKernel", slices: "w v g", in: "w v g", out: "w v", scalars: "scale decay lr mu", unroll: 2,
		body: func(a *asm, x, s []vec) []vec {
			d := a.gradient(x[0], x[2], s[0], s[1])
			a.fmaTo(d, x[1], s[3])
			return []vec{a.fnma(d, s[2], x[0]), d}
		}},
	{name: "nesterov", typ: "momentumKernel", slices: "w v g", in: "w v g", out: "w v", scalars: "scale decay lr mu",
		body: func(a *asm, x, s []vec) []vec {
			d := a.gradient(x[0], x[2], s[0], s[1])
			u := a.fma(x[1], s[3], d)
			a.fmaTo(d, u, s[3])
			return []vec{a.fnma(d, s[2], x[0]), u}
		}},
	{name: "adam", typ: "adamKernel", slices: "w m v g", in: "w m v g", out: "w m v",
		scalars: "scale decay shrink c1 c2 step root eps", halved: true, body: adamBody},
	{name: "rmsprop", typ: "rmspropKernel", slices: "w sq g", in: "w sq g", out: "w sq",
		scalars: "scale decay lr beta eps", halved: true,
		body: func(a *asm, x, s []vec) []vec {
			d := a.gradient(x[0], x[2], s[0], s[1])
			b, q := rmspropStep(a, x[1], d, s[3], s[4])
			return []vec{a.fnma(q, s[2], x[0]), b}
		}},
	{name: "rmspropMomentum", typ: "rmspropMomentumKernel", slices: "w sq buf g", in: "w sq buf g", out: "w sq buf",
		scalars: "scale decay lr beta eps mu", halved: true,
		body: func(a *asm, x, s []vec) []vec {
			d := a.gradient(x[0], x[3], s[0], s[1])
			b, q := rmspropStep(a, x[1], d, s[3], s[4])
			a.fmaTo(q, x[2], s[5])
			return []vec{a.fnma(q, s[2], x[0]), b, q}
		}},
}

// gradient is scale·g + decay·w.
func (a *asm) gradient(w, g, scale, decay vec) vec { return a.fma(w, decay, a.mul(g, scale)) }

func adamBody(a *asm, x, s []vec) []vec {
	d := a.gradient(x[0], x[3], s[0], s[1])
	m := a.fma(a.sub(d, x[1]), s[3], x[1])
	v := a.fma(a.sub(a.mul(d, d), x[2]), s[4], x[2])
	den := a.fma(a.sqrt(v), s[6], s[7])
	w := a.sub(a.mul(x[0], s[2]), a.div(a.mul(m, s[5]), den))
	return []vec{w, m, v}
}

// rmspropStep gives the new mean square and d/(√ of it + ε).
func rmspropStep(a *asm, sq, d, beta, eps vec) (b, q vec) {
	b = a.fma(a.sub(a.mul(d, d), sq), beta, sq)
	return b, a.div(d, a.add(a.sqrt(b), eps))
}

func emitOptimisers(a *asm, names *registry) {
	for _, k := range optimisers {
		k.emit(a)
		names.add(k.name, k.typ)
	}
}
