package data

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"io"
	"slices"
)

// IDX is the format of MNIST's files: two zero bytes, a byte for the element type, a byte
// for the number of dimensions, each dimension as a big-endian uint32, then the elements,
// big endian, in row-major order (LeCun, Cortes and Burges, "The MNIST database",
// section "The IDX file format").

// idxTypes maps the type byte of the format.
var idxTypes = map[byte]DType{0x08: U8, 0x09: I8, 0x0B: I16, 0x0C: I32, 0x0D: F32, 0x0E: F64}

// idxMaxDims bounds the dimensions of an IDX file; the format allows 255, no data set needs them.
const idxMaxDims = 8

// ReadIDXFile reads an IDX file, compressed with gzip or not. Its decompressed elements may
// take limit bytes at most; 0 means DefaultLimit.
func ReadIDXFile(path string, limit int64) (*Array, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadIDX(f, path, limit)
}

// ReadIDX reads one IDX array from r to its end, decompressing it when it is gzip's format.
// Name stands for the file in errors. The elements may take limit bytes at most; 0 means
// DefaultLimit.
func ReadIDX(r io.Reader, name string, limit int64) (*Array, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	src, err := gunzip(r, name)
	if err != nil {
		return nil, err
	}
	t, shape, offset, err := readIDXHeader(src, name)
	if err != nil {
		return nil, err
	}
	n, err := checkClaim(name, 4, shape, t, limit)
	if err != nil {
		return nil, err
	}
	b, err := readClaimed(src, name, offset, n)
	if err != nil {
		return nil, err
	}
	if err := expectEnd(src, name, offset+int64(n)); err != nil {
		return nil, err
	}
	swapBytes(b, t.Size())
	return &Array{Type: t, Shape: shape, Data: b}, nil
}

// gunzip decompresses r when it begins with gzip's magic bytes.
func gunzip(r io.Reader, name string) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if magic, err := buffered.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, wrongByte(name, 0, "gzip header", "%w", err)
	}
	return z, nil
}

// readIDXHeader reads up to the first element, which is at offset.
func readIDXHeader(r io.Reader, name string) (t DType, shape []int, offset int64, err error) {
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return 0, nil, 0, wrongByte(name, 0, "magic number", "the file is too short for an IDX header: %w", err)
	}
	if magic[0] != 0 || magic[1] != 0 {
		return 0, nil, 0, wrongByte(name, 0, "magic number", "not an IDX file: it begins with %#02x %#02x, want 0 0", magic[0], magic[1])
	}
	t, ok := idxTypes[magic[2]]
	if !ok {
		return 0, nil, 0, wrongByte(name, 2, "element type", "%#02x is not an IDX type", magic[2])
	}
	dims := int(magic[3])
	if dims == 0 || dims > idxMaxDims {
		return 0, nil, 0, wrongByte(name, 3, "number of dimensions", "%d is not between 1 and %d", dims, idxMaxDims)
	}
	raw := make([]byte, 4*dims)
	if _, err := io.ReadFull(r, raw); err != nil {
		return 0, nil, 0, wrongByte(name, 4, "dimensions", "the file ends inside them: %w", err)
	}
	for ; len(raw) > 0; raw = raw[4:] {
		shape = append(shape, int(binary.BigEndian.Uint32(raw)))
	}
	return t, shape, 4 + int64(4*dims), nil
}

// WriteIDX writes an array as IDX, uncompressed. IDX has no int64.
func WriteIDX(w io.Writer, a *Array) error {
	header := []byte{0, 0, 0xff, byte(len(a.Shape))}
	for code, t := range idxTypes {
		if t == a.Type {
			header[2] = code
		}
	}
	if header[2] == 0xff || len(a.Shape) == 0 || len(a.Shape) > idxMaxDims {
		return wrongField("IDX", "array", "%v elements in shape %v cannot be written in this format", a.Type, a.Shape)
	}
	for _, d := range a.Shape {
		if int64(d) > 1<<32-1 {
			return wrongField("IDX", "array", "dimension %d is too large for this format", d)
		}
		header = binary.BigEndian.AppendUint32(header, uint32(d))
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	body := a.Data
	if a.Type.Size() > 1 {
		body = slices.Clone(body)
		swapBytes(body, a.Type.Size())
	}
	_, err := w.Write(body)
	return err
}
