package main

// unary lists the kernels dst = f(x).
var unary = []struct {
	name   string
	unroll int
	f      func(a *asm, x vec) vec
}{
	{"relu", 4, (*asm).relu},
	{"neg", 4, (*asm).negate},
	{"abs", 4, (*asm).abs},
	{"sqrt", 2, (*asm).sqrt},
	{"rsqrt", 2, func(a *asm, x vec) vec { return a.div(a.copyOf(a.constant(1)), a.sqrt(x)) }},
	{"square", 4, func(a *asm, x vec) vec { return a.mul(x, x) }},
	{"exp", 1, (*asm).exp},
	{"log", 1, (*asm).log},
	{"sigmoid", 1, (*asm).sigmoid},
	{"tanh", 1, (*asm).tanh},
	{"gelu", 1, func(a *asm, x vec) vec {
		x = a.atLeast(-40, x)
		phi, _ := a.gauss(x)
		return a.mul(x, phi)
	}},
	{"geluTanh", 1, func(a *asm, x vec) vec {
		x = a.atLeast(-40, x)
		return a.mul(x, a.sigmoid(a.geluArg(x)))
	}},
	{"silu", 1, func(a *asm, x vec) vec {
		x = a.atLeast(-126, x)
		return a.mul(x, a.sigmoid(x))
	}},
}

// unaryScalar lists the kernels dst = f(x; a, b).
var unaryScalar = []struct {
	name string
	f    func(a *asm, x, p, q vec) vec
}{
	{"leaky", func(a *asm, x, p, _ vec) vec {
		return a.choose(a.compare(gt, x, a.constant(0)), x, a.mul(x, p))
	}},
	{"affine", func(a *asm, x, p, q vec) vec { return a.fma(x, p, q) }},
	{"scale", func(a *asm, x, p, _ vec) vec { return a.mul(x, p) }},
	{"quotient", func(a *asm, x, p, _ vec) vec { return a.div(x, p) }},
}

// binary lists the kernels dst = f(x, y); in gradients x is dy and y what the forward pass kept.
var binary = []struct {
	name   string
	unroll int
	f      func(a *asm, x, y vec) vec
}{
	{"add", 4, func(a *asm, x, y vec) vec { return a.add(x, y) }},
	{"sub", 4, func(a *asm, x, y vec) vec { return a.sub(x, y) }},
	{"mul", 4, func(a *asm, x, y vec) vec { return a.mul(x, y) }},
	{"div", 2, func(a *asm, x, y vec) vec { return a.div(x, y) }},
	{"max", 2, (*asm).maxNaN},
	{"min", 2, (*asm).minNaN},
	{"ge", 2, func(a *asm, x, y vec) vec { return a.indicator(a.compare(ge, x, y)) }},
	{"lt", 2, func(a *asm, x, y vec) vec { return a.indicator(a.compare(lt, x, y)) }},
	{"addReLU", 4, func(a *asm, x, y vec) vec { return a.relu(a.add(x, y)) }},
	{"reluGrad", 4, func(a *asm, dy, y vec) vec { return a.keep(a.compare(gt, y, a.constant(0)), dy) }},
	{"absGrad", 2, func(a *asm, dy, x vec) vec {
		zero := a.compare(eq, x, a.constant(0))
		d := a.choose(a.compare(lt, x, a.constant(0)), a.negate(dy), dy)
		return a.choose(zero, a.Zero(), d)
	}},
	{"sqrtGrad", 2, func(a *asm, dy, y vec) vec { return a.div(a.mul(dy, a.constant(0.5)), y) }},
	{"squareGrad", 2, func(a *asm, dy, x vec) vec { return a.mul(a.add(dy, dy), x) }},
	{"sigmoidGrad", 2, func(a *asm, dy, y vec) vec {
		return a.mul(dy, a.mul(y, a.sub(a.copyOf(a.constant(1)), y)))
	}},
	{"tanhGrad", 2, func(a *asm, dy, y vec) vec { return a.mul(dy, a.fnma(y, y, a.constant(1))) }},
	{"geluGrad", 1, func(a *asm, dy, x vec) vec {
		x = a.atMost(40, a.atLeast(-40, x))
		phi, e := a.gauss(x)
		return a.mul(dy, a.fma(a.mul(x, a.constant(0.39894228040143267794)), e, phi))
	}},
	{"geluTanhGrad", 1, func(a *asm, dy, x vec) vec {
		const c = 2 * 0.79788456080286535588
		x = a.atMost(40, a.atLeast(-40, x))
		s := a.sigmoid(a.geluArg(x))
		du := a.fma(a.mul(x, x), a.constant(c*3*0.044715), a.constant(c))
		slope := a.mul(a.mul(a.mul(x, s), a.sub(a.copyOf(a.constant(1)), s)), du)
		return a.mul(dy, a.add(s, slope))
	}},
	{"siluGrad", 1, func(a *asm, dy, x vec) vec {
		x = a.atMost(126, a.atLeast(-126, x))
		s := a.sigmoid(x)
		one := a.constant(1)
		return a.mul(dy, a.mul(s, a.fma(x, a.sub(a.copyOf(one), s), one)))
	}},
}

// binaryScalar lists the kernels dst = f(x, y; a, b).
var binaryScalar = []struct {
	name string
	f    func(a *asm, x, y, p, q vec) vec
}{
	{"leakyGrad", func(a *asm, dy, y, p, _ vec) vec {
		return a.choose(a.compare(gt, y, a.constant(0)), dy, a.mul(dy, p))
	}},
	{"axpby", func(a *asm, x, y, p, q vec) vec { return a.fma(x, p, a.mul(y, q)) }},
}

// indicator is 1 where the mask is set and 0 elsewhere.
func (a *asm) indicator(m *mask) vec { return a.keep(m, a.copyOf(a.constant(1))) }

func emitElementwise(a *asm, names *registry) {
	for _, k := range unary {
		s := stream{name: k.name, slices: "dst x", in: "x", out: "dst", unroll: k.unroll,
			body: func(a *asm, x, _ []vec) []vec { return []vec{k.f(a, x[0])} }}
		s.emit(a)
		names.add(k.name, "kernel2")
	}
	for _, k := range unaryScalar {
		s := stream{name: k.name, slices: "dst x", in: "x", out: "dst", scalars: "a b", unroll: 2,
			body: func(a *asm, x, s []vec) []vec { return []vec{k.f(a, x[0], s[0], s[1])} }}
		s.emit(a)
		names.add(k.name, "kernel2s")
	}
	for _, k := range binary {
		s := stream{name: k.name, slices: "dst x y", in: "x y", out: "dst", unroll: k.unroll,
			body: func(a *asm, x, _ []vec) []vec { return []vec{k.f(a, x[0], x[1])} }}
		s.emit(a)
		names.add(k.name, "kernel3")
	}
	for _, k := range binaryScalar {
		s := stream{name: k.name, slices: "dst x y", in: "x y", out: "dst", scalars: "a b", unroll: 2,
			body: func(a *asm, x, s []vec) []vec { return []vec{k.f(a, x[0], x[1], s[0], s[1])} }}
		s.emit(a)
		names.add(k.name, "kernel3s")
	}
}
