// Package bundle reads and writes one file that holds a JSON description and named float32
// tensors: a saved model, a checkpoint.
//
// Layout, all numbers little endian:
//
//	"MILLRACE"  u32 version  u32 length of the header
//	header      JSON: kind, meta, and the name and shape of each tensor in order
//	            zeros up to a multiple of 64
//	data        each tensor's elements, followed by zeros up to a multiple of 64
//	u64         XXH3 of everything before it
//
// The file is exactly as long as its header says. Read believes no size before it has been
// compared with the file's real length, verifies the checksum, and executes nothing.
package bundle

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"millrace.dev/learn/tensor"
)

const (
	magic     = "MILLRACE"
	version   = 1
	maxHeader = 16 << 20
	align     = 64
	fixed     = len(magic) + 8
)

// File is the content of a bundle.
type File struct {
	Kind    string // what it is, as in "model"
	Meta    json.RawMessage
	Tensors []Tensor
}

// Tensor is a named array of float32.
type Tensor struct {
	Name  string
	Shape tensor.Shape
	Data  []float32
}

// FormatError says what is wrong with a bundle and where.
type FormatError struct {
	Offset int64
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason) }

// BadInput marks the error as the fault of the file.
func (e *FormatError) BadInput() bool { return true }

type header struct {
	Kind    string          `json:"kind"`
	Meta    json.RawMessage `json:"meta"`
	Tensors []entry         `json:"tensors"`
}

type entry struct {
	Name  string       `json:"name"`
	Shape tensor.Shape `json:"shape"`
}

// Write writes a bundle.
func Write(w io.Writer, f *File) error {
	h := header{Kind: f.Kind, Meta: f.Meta}
	for _, t := range f.Tensors {
		if err := t.Shape.Check(); err != nil {
			return err
		}
		if t.Shape.Elems() != len(t.Data) {
			return fmt.Errorf("bundle: tensor %q of shape %v holds %d numbers", t.Name, t.Shape, len(t.Data))
		}
		h.Tensors = append(h.Tensors, entry{t.Name, t.Shape})
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(text) > maxHeader {
		return fmt.Errorf("bundle: the header has %d bytes, more than %d", len(text), maxHeader)
	}
	hash := xxh3.New()
	buf := bufio.NewWriterSize(w, 1<<16)
	out := io.MultiWriter(buf, hash)
	start := binary.LittleEndian.AppendUint32([]byte(magic), version)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(text)))
	start = append(start, text...)
	if _, err := out.Write(append(start, make([]byte, padding(len(start)))...)); err != nil {
		return err
	}
	if err := writeData(out, f.Tensors); err != nil {
		return err
	}
	if _, err := buf.Write(binary.LittleEndian.AppendUint64(nil, hash.Sum64())); err != nil {
		return err
	}
	return buf.Flush()
}

func writeData(out io.Writer, tensors []Tensor) error {
	block := make([]byte, 0, 1<<16)
	for _, t := range tensors {
		for at := 0; at < len(t.Data); at += cap(block) / 4 {
			part := t.Data[at:min(at+cap(block)/4, len(t.Data))]
			block = encode(block[:0], part)
			if _, err := out.Write(block); err != nil {
				return err
			}
		}
		if _, err := out.Write(make([]byte, padding(4*len(t.Data)))); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a bundle of the given size, whole.
func Read(r io.ReaderAt, size int64) (*File, error) {
	h, at, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	if err := verify(r, size); err != nil {
		return nil, err
	}
	f := &File{Kind: h.Kind, Meta: h.Meta}
	for _, e := range h.Tensors {
		t := Tensor{e.Name, e.Shape, tensor.AlignedF32(e.Shape.Elems())}
		if err := readData(io.NewSectionReader(r, at, int64(4*len(t.Data))), t.Data); err != nil {
			return nil, err
		}
		at += int64(4*len(t.Data) + padding(4*len(t.Data)))
		f.Tensors = append(f.Tensors, t)
	}
	return f, nil
}

// ReadFile reads the bundle at path, whole. What is wrong with it is a *FormatError.
func ReadFile(path string) (*File, error) {
	var b *File
	err := open(path, func(f *os.File, size int64) (err error) {
		b, err = Read(f, size)
		return err
	})
	return b, err
}

// VerifyFile checks the bundle at path without keeping it in memory.
func VerifyFile(path string) error {
	return open(path, func(f *os.File, size int64) error {
		if _, _, err := readHeader(f, size); err != nil {
			return err
		}
		return verify(f, size)
	})
}

func open(path string, do func(f *os.File, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &FormatError{0, "it is not a regular file"}
	}
	return do(f, info.Size())
}

// readHeader returns the header and where the data begins, having checked that the file has
// exactly the length that the header asks for.
func readHeader(r io.ReaderAt, size int64) (*header, int64, error) {
	start := make([]byte, fixed)
	if n, _ := r.ReadAt(start, 0); n < fixed || string(start[:len(magic)]) != magic {
		return nil, 0, &FormatError{0, "not a millrace file"}
	}
	if v := binary.LittleEndian.Uint32(start[len(magic):]); v != version {
		return nil, 0, &FormatError{int64(len(magic)), fmt.Sprintf("version %d, this program reads %d", v, version)}
	}
	n := int64(binary.LittleEndian.Uint32(start[len(magic)+4:]))
	if n > maxHeader || int64(fixed)+n+8 > size {
		return nil, 0, &FormatError{int64(len(magic) + 4), fmt.Sprintf("a header of %d bytes does not fit into the file", n)}
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, int64(fixed)); err != nil {
		return nil, 0, err
	}
	h := &header{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, 0, &FormatError{int64(fixed), "the header is no JSON: " + err.Error()}
	}
	data := int64(fixed) + n + int64(padding(fixed+int(n)))
	end := data
	for _, e := range h.Tensors {
		if err := e.Shape.Check(); err != nil {
			return nil, 0, &FormatError{int64(fixed), fmt.Sprintf("tensor %q: %v", e.Name, err)}
		}
		bytes := 4 * e.Shape.Elems()
		if end += int64(bytes + padding(bytes)); end > size {
			return nil, 0, &FormatError{size, fmt.Sprintf("the file ends before tensor %q does", e.Name)}
		}
	}
	if end+8 != size {
		return nil, 0, &FormatError{size, fmt.Sprintf("the file has %d bytes, its header asks for %d", size, end+8)}
	}
	return h, data, nil
}

func verify(r io.ReaderAt, size int64) error {
	hash := xxh3.New()
	if _, err := io.Copy(hash, io.NewSectionReader(r, 0, size-8)); err != nil {
		return err
	}
	sum := make([]byte, 8)
	if _, err := r.ReadAt(sum, size-8); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(sum) != hash.Sum64() {
		return &FormatError{size - 8, "the checksum does not match: the file is damaged"}
	}
	return nil
}

func readData(r io.Reader, dst []float32) error {
	block := make([]byte, 1<<16)
	for at := 0; at < len(dst); {
		n := min(len(dst)-at, len(block)/4)
		if _, err := io.ReadFull(r, block[:4*n]); err != nil {
			return err
		}
		decode(dst[at:at+n], block)
		at += n
	}
	return nil
}

func padding(n int) int { return (align - n%align) % align }
