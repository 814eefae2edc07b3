package vec

// Op names a function of two operands.
type Op uint8

// The functions of two operands. OpGE and OpLT give 1 or 0; OpMax and OpMin give NaN when an
// operand is NaN; OpAddReLU is max(x+y, 0).
const (
	OpAdd Op = iota
	OpSub
	OpMul
	OpDiv
	OpMax
	OpMin
	OpGE
	OpLT
	OpAddReLU
	ops
)

var binaryTabs = [ops]*table[kernel3]{&addTab, &subTab, &mulTab, &divTab, &maxTab, &minTab, &geTab, &ltTab, &addReLUTab}

// Binary sets dst = x op y.
func Binary(op Op, dst, x, y []float32) { run3(binaryTabs[op], dst, x, y) }

// Mul sets dst = x·y.
func Mul(dst, x, y []float32) { run3(&mulTab, dst, x, y) }

// Axpy adds a·x to dst.
func Axpy(dst, x []float32, a float32) { run3s(&axpbyTab, dst, x, dst, a, 1) }

// BinaryScalar sets dst = x op s.
func BinaryScalar(op Op, dst, x []float32, s float32) {
	switch op {
	case OpAdd:
		run2s(&affineTab, dst, x, 1, s)
	case OpSub:
		run2s(&affineTab, dst, x, 1, -s)
	case OpMul:
		run2s(&scaleTab, dst, x, s, 0)
	case OpDiv:
		run2s(&quotientTab, dst, x, s, 0)
	default:
		scalarGeneric(op, dst, x, s, false)
	}
}

// ScalarBinary sets dst = s op y.
func ScalarBinary(op Op, dst []float32, s float32, y []float32) {
	switch op {
	case OpAdd:
		run2s(&affineTab, dst, y, 1, s)
	case OpSub:
		run2s(&affineTab, dst, y, -1, s)
	case OpMul:
		run2s(&scaleTab, dst, y, s, 0)
	default:
		scalarGeneric(op, dst, y, s, true)
	}
}

// scalarGeneric sets dst = x op s, or s op x when swapped.
func scalarGeneric(op Op, dst, x []float32, s float32, swapped bool) {
	for i, v := range x[:len(dst)] {
		if swapped {
			dst[i] = op.eval(s, v)
		} else {
			dst[i] = op.eval(v, s)
		}
	}
}

// eval is x op y for one pair.
func (op Op) eval(x, y float32) float32 {
	switch op {
	case OpAdd:
		return x + y
	case OpSub:
		return x - y
	case OpMul:
		return x * y
	case OpDiv:
		return x / y
	case OpMax:
		return max(x, y)
	case OpMin:
		return min(x, y)
	case OpGE:
		return indicator(x >= y)
	case OpLT:
		return indicator(x < y)
	default: // OpAddReLU
		return max(x+y, 0)
	}
}

func indicator(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

func addGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = v + y[i]
	}
}

func subGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = v - y[i]
	}
}

func mulGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = v * y[i]
	}
}

func divGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = v / y[i]
	}
}

func maxGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = max(v, y[i])
	}
}

func minGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = min(v, y[i])
	}
}

func geGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = indicator(v >= y[i])
	}
}

func ltGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = indicator(v < y[i])
	}
}

func addReLUGeneric(dst, x, y []float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = max(v+y[i], 0)
	}
}

func axpbyGeneric(dst, x, y []float32, a, b float32) {
	y = y[:len(dst)]
	for i, v := range x[:len(dst)] {
		dst[i] = a*v + b*y[i]
	}
}

func scaleGeneric(dst, x []float32, a, _ float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = a * v
	}
}

func quotientGeneric(dst, x []float32, a, _ float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = v / a
	}
}
