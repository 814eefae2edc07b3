package gemm

import (
	"fmt"
	"unsafe"
)

// Epilogue says what happens to a sum v before it is stored at Out[i], in this order.
type Epilogue struct {
	// Accumulate starts the sum at Out[i] instead of zero.
	Accumulate bool
	// Bias, if not nil, has one element for each column of Out: v += Bias[column].
	Bias []float32
	// Residual, if not nil, has Out's layout: v += Residual[i]. It must not overlap Out, whose own elements Accumulate adds.
	Residual []float32
	// ReLU makes v = max(v, 0); NaN stays NaN.
	ReLU bool
	// Mask, if not nil, has Out's layout: v = 0 unless Mask[i] > 0. It is the backward pass of a ReLU whose output is
	// Mask. It must not overlap Out.
	Mask []float32
}

// Args are the tensors of one execution of a plan; all chunks of it share one Args.
type Args struct {
	// Out is the result: C of a MatMul, y of Forward, dx of GradInput, dw of GradFilter.
	Out []float32
	// Part says that Out is memory for the region of one chunk, and begins with element Lo of the result. Bias, Residual
	// and Mask keep their own layouts.
	Part bool
	Lo   int
	// A is the left matrix; x of Forward, dy of GradInput, x of GradFilter.
	A []float32
	// B is the right matrix; w of Forward, w of GradInput, dy of GradFilter.
	B []float32
	// Epilogue is applied to Out.
	Epilogue
	// Shared is scratch of Plan.Shared() floats that stays untouched by others from the first to the last phase.
	Shared []float32
}

// Region is a rectangle of Out seen as a row-major matrix: of a MatMul C itself, of an image one row for each pixel
// and one column for each channel, of a filter one row for each (kh, kw, c).
type Region struct {
	Row0, Row1 int // rows [Row0, Row1)
	Col0, Col1 int // columns [Col0, Col1)
	Cols       int // columns of the whole matrix
}

// Empty reports whether the region holds no element.
func (r Region) Empty() bool { return r.Row0 >= r.Row1 || r.Col0 >= r.Col1 }

// Range returns the region as elements [lo, hi) of Out, and whether it is contiguous.
func (r Region) Range() (lo, hi int, contiguous bool) {
	if r.Empty() {
		return 0, 0, true
	}
	lo, hi = r.Row0*r.Cols+r.Col0, (r.Row1-1)*r.Cols+r.Col1
	return lo, hi, hi-lo == (r.Row1-r.Row0)*(r.Col1-r.Col0)
}

// phase is a set of chunks that may run at the same time.
type phase struct {
	chunks int
	run    func(chunk int, args *Args, worker []float32)
	// region tells what a chunk finishes; nil for a phase that finishes nothing.
	region func(chunk int) Region
}

// Plan is how one operation on one shape is computed. See the package's description.
type Plan struct {
	phases         []phase
	out, a, b      int // elements of the tensors
	cols           int // columns of Out
	shared, worker int // scratch floats
	flops          int
}

// Phases returns the number of phases, at least one.
func (p *Plan) Phases() int { return len(p.phases) }

// Chunks returns the number of chunks of a phase, at least one.
func (p *Plan) Chunks(phase int) int { return p.phases[phase].chunks }

// Shared returns how many floats of scratch one execution needs.
func (p *Plan) Shared() int { return p.shared }

// Worker returns how many floats of scratch each goroutine that runs chunks needs; it may reuse them for any plan.
func (p *Plan) Worker() int { return p.worker }

// Flops returns the floating-point operations of one execution, two for each multiply-add.
func (p *Plan) Flops() int { return p.flops }

// Region returns the part of Out that a chunk finishes; it is empty for a chunk that only prepares others.
// The regions of all chunks cover Out exactly once.
func (p *Plan) Region(phase, chunk int) Region {
	if r := p.phases[phase].region; r != nil {
		return r(chunk)
	}
	return Region{Cols: p.cols}
}

// Run computes one chunk of a phase with worker as scratch.
func (p *Plan) Run(phase, chunk int, args *Args, worker []float32) {
	p.check(phase, chunk, args, worker)
	p.phases[phase].run(chunk, args, worker)
}

// check panics if a slice is too short: assembly would otherwise write past its end.
func (p *Plan) check(phase, chunk int, args *Args, worker []float32) {
	need := func(what string, have, want int) {
		if have < want {
			panic(fmt.Sprintf("gemm: %s has %d elements, the plan needs %d", what, have, want))
		}
	}
	end := p.out
	if args.Part {
		_, end, _ = p.Region(phase, chunk).Range()
	}
	need("Out", args.Lo+len(args.Out), end)
	need("A", len(args.A), p.a)
	need("B", len(args.B), p.b)
	need("Shared", len(args.Shared), p.shared)
	need("worker scratch", len(worker), p.worker)
	if args.Bias != nil {
		need("Bias", len(args.Bias), p.cols)
	}
	if args.Residual != nil {
		need("Residual", len(args.Residual), p.out)
	}
	if args.Mask != nil {
		need("Mask", len(args.Mask), p.out)
	}
}

// at returns the address of s[i], or nil if s has none.
func at(s []float32, i int) unsafe.Pointer {
	if i >= len(s) {
		return nil
	}
	return unsafe.Pointer(&s[i])
}

// chunksFor is the number of chunks that work multiply-adds are worth.
func chunksFor(work int) int { return min(max(work/grain, 1), maxChunks) }

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }

// ShapeError tells why an operation has no meaning for a shape.
type ShapeError struct {
	Op     string // "matmul" or "conv"
	Shape  string
	Reason string
}

func (e *ShapeError) Error() string { return fmt.Sprintf("%s %s: %s", e.Op, e.Shape, e.Reason) }
