package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The .npy format, versions 1 to 3 (NumPy enhancement proposal 1 and numpy.lib.format): a
// magic string, two version bytes, the header's length, a Python dictionary literal with the
// element type, the order of the axes and the shape, then the elements.

const npyMagic = "\x93NUMPY"

// npyMaxHeader bounds the header; NumPy itself warns over 10,000 bytes.
const npyMaxHeader = 1 << 16

// npyMaxDims is NumPy's own bound.
const npyMaxDims = 64

// npyTypes maps the type strings, without byte order, that can be read.
var npyTypes = map[string]DType{
	"u1": U8, "u2": U16, "u4": U32, "i1": I8, "i2": I16, "i4": I32, "i8": I64, "f4": F32, "f8": F64,
}

// ReadNPY reads one .npy array from r to its end. Name stands for the file in errors. The
// elements may take limit bytes at most; 0 means DefaultLimit.
func ReadNPY(r io.Reader, name string, limit int64) (*Array, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	text, offset, err := readNPYHeader(r, name)
	if err != nil {
		return nil, err
	}
	h, err := parseNPYHeader(text)
	if err != nil {
		return nil, wrongByte(name, offset-int64(len(text)), "header", "%w", err)
	}
	n, err := checkClaim(name, offset-int64(len(text)), h.shape, h.dtype, limit)
	if err != nil {
		return nil, err
	}
	b, err := readClaimed(r, name, offset, n)
	if err != nil {
		return nil, err
	}
	if err := expectEnd(r, name, offset+int64(n)); err != nil {
		return nil, err
	}
	if h.bigEndian {
		swapBytes(b, h.dtype.Size())
	}
	if h.fortran {
		b = rowMajor(b, h.shape, h.dtype.Size())
	}
	return &Array{Type: h.dtype, Shape: h.shape, Data: b}, nil
}

// readNPYHeader gives the text of the header and the offset of the first element.
func readNPYHeader(r io.Reader, name string) (text string, offset int64, err error) {
	var fixed [8]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil || string(fixed[:6]) != npyMagic {
		return "", 0, wrongByte(name, 0, "magic string", "not a .npy file")
	}
	var lengthBytes int
	switch fixed[6] {
	case 1:
		lengthBytes = 2
	case 2, 3:
		lengthBytes = 4
	default:
		return "", 0, wrongByte(name, 6, "version", "%d.%d is not known; want 1, 2 or 3", fixed[6], fixed[7])
	}
	var raw [4]byte
	if _, err := io.ReadFull(r, raw[:lengthBytes]); err != nil {
		return "", 0, wrongByte(name, 8, "header length", "the file ends here")
	}
	length := binary.LittleEndian.Uint32(raw[:])
	if length > npyMaxHeader {
		return "", 0, wrongByte(name, 8, "header length", "%d bytes are over the limit of %d", length, npyMaxHeader)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return "", 0, wrongByte(name, int64(8+lengthBytes), "header", "the file ends inside it")
	}
	return string(header), int64(8+lengthBytes) + int64(length), nil
}

// npyHeader is what the dictionary says.
type npyHeader struct {
	dtype     DType
	bigEndian bool
	fortran   bool
	shape     []int
}

// parseNPYHeader reads the dictionary literal: exactly the keys descr, fortran_order, shape.
func parseNPYHeader(text string) (h npyHeader, err error) {
	p := npyParser{rest: text}
	p.expect("{")
	seen := map[string]bool{}
	for p.err == nil && !p.accept("}") {
		key := p.quoted()
		p.expect(":")
		if seen[key] {
			p.fail("key %q comes twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			h.dtype, h.bigEndian = p.descr()
		case "fortran_order":
			h.fortran = p.boolean()
		case "shape":
			h.shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.accept(",") && !strings.HasPrefix(p.skipSpace(), "}") {
			p.fail("want , or } before %q", clip(p.rest))
		}
	}
	if p.err == nil && p.skipSpace() != "" {
		p.fail("unexpected %q after the dictionary", clip(p.rest))
	}
	if p.err == nil && len(seen) != 3 {
		p.fail("descr, fortran_order or shape is missing")
	}
	return h, p.err
}

// npyParser reads the few Python literals that a header may hold.
type npyParser struct {
	rest string
	err  error
}

func (p *npyParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// clip shortens text for a message.
func clip(s string) string { return s[:min(len(s), 20)] }

func (p *npyParser) skipSpace() string {
	p.rest = strings.TrimLeft(p.rest, " \t\n\r")
	return p.rest
}

func (p *npyParser) accept(token string) bool {
	rest, ok := strings.CutPrefix(p.skipSpace(), token)
	p.rest = rest
	return ok
}

func (p *npyParser) expect(token string) {
	if !p.accept(token) {
		p.fail("want %q before %q", token, clip(p.rest))
	}
}

func (p *npyParser) quoted() string {
	s := p.skipSpace()
	if s == "" || s[0] != '\'' && s[0] != '"' {
		p.fail("want a quoted string before %q", clip(s))
		return ""
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 {
		p.fail("a quoted string does not end")
		return ""
	}
	p.rest = s[end+2:]
	return s[1 : end+1]
}

// descr reads an element type such as '<f4'.
func (p *npyParser) descr() (t DType, bigEndian bool) {
	if strings.HasPrefix(p.skipSpace(), "[") {
		p.fail("records with several fields cannot be read; store each field as an array of its own")
		return 0, false
	}
	s := p.quoted()
	if p.err != nil {
		return 0, false
	}
	if s == "|O" || s == "O" {
		p.fail("arrays of Python objects are not read, because they hold code; store numbers instead")
		return 0, false
	}
	order := "<"
	if len(s) > 0 && strings.Contains("<>|=", s[:1]) {
		order, s = s[:1], s[1:]
	}
	if s == "b1" { // False and True are bytes of 0 and 1
		s = "u1"
	}
	t, ok := npyTypes[s]
	if !ok || order == "=" {
		p.fail("element type %q cannot be read; want bool, uint8, uint16, uint32, int8, int16, int32, int64, float32 or float64", order+s)
		return 0, false
	}
	return t, order == ">"
}

func (p *npyParser) boolean() bool {
	switch {
	case p.accept("True"):
		return true
	case p.accept("False"):
	default:
		p.fail("want True or False before %q", clip(p.rest))
	}
	return false
}

// tuple reads a shape such as (3, 4), (5,) or ().
func (p *npyParser) tuple() []int {
	shape := []int{}
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		s := p.skipSpace()
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		n, err := strconv.ParseInt(s[:digits], 10, 64)
		if err != nil || n > math.MaxInt {
			p.fail("want a dimension before %q", clip(s))
			return nil
		}
		if len(shape) == npyMaxDims {
			p.fail("more than %d dimensions", npyMaxDims)
			return nil
		}
		shape = append(shape, int(n))
		p.rest = s[digits:]
		if !p.accept(",") && !strings.HasPrefix(p.skipSpace(), ")") {
			p.fail("want , or ) before %q", clip(p.rest))
		}
	}
	return shape
}

// rowMajor reorders elements whose first axis varies fastest into row-major order.
func rowMajor(b []byte, shape []int, size int) []byte {
	out := make([]byte, len(b))
	strides := make([]int, len(shape)) // of the source, in elements
	step := 1
	for i, d := range shape {
		strides[i] = step
		step *= d
	}
	at := make([]int, len(shape))
	from := 0
	for to := 0; to < len(out); to += size {
		copy(out[to:to+size], b[from*size:])
		for axis := len(shape) - 1; axis >= 0; axis-- {
			at[axis]++
			from += strides[axis]
			if at[axis] < shape[axis] {
				break
			}
			from -= at[axis] * strides[axis]
			at[axis] = 0
		}
	}
	return out
}

// WriteNPY writes an array in .npy format, version 1.0, row-major and little endian.
func WriteNPY(w io.Writer, a *Array) error {
	var header bytes.Buffer
	header.WriteString(npyMagic + "\x01\x00\x00\x00")
	fmt.Fprintf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", npyDescr(a.Type), pythonTuple(a.Shape))
	for (header.Len()+1)%64 != 0 { // the elements begin at a multiple of 64
		header.WriteByte(' ')
	}
	header.WriteByte('\n')
	binary.LittleEndian.PutUint16(header.Bytes()[8:], uint16(header.Len()-10))
	if _, err := w.Write(header.Bytes()); err != nil {
		return err
	}
	_, err := w.Write(a.Data)
	return err
}

// pythonTuple writes a shape as Python does.
func pythonTuple(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.Itoa(d)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// npyDescr gives the type string of an element type.
func npyDescr(t DType) string {
	order := "<"
	if t.Size() == 1 {
		order = "|"
	}
	for code, u := range npyTypes {
		if u == t {
			return order + code
		}
	}
	return ""
}
