package data

import (
	"bytes"
	"embed"

	"github.com/klauspost/compress/zstd"
)

// The extract of Fashion-MNIST, made by internal/extract, and its licence.
//
//go:embed embedded
var extract embed.FS

// openExtract reads the embedded extract.
func openExtract(opt Options) (*Set, error) {
	var pairs [2]*pair
	for i := range pairs {
		x, err := readExtract(fourFiles[2*i])
		if err != nil {
			return nil, err
		}
		y, err := readExtract(fourFiles[2*i+1])
		if err != nil {
			return nil, err
		}
		if pairs[i], err = newPair(DefaultName, x, DefaultName, y); err != nil {
			return nil, err
		}
	}
	set, err := pairSet(pairs[0], pairs[1], fashionClasses, opt)
	if err != nil {
		return nil, err
	}
	set.Origin = "embedded in the program"
	return set, nil
}

// readExtract reads one embedded IDX file, whose elements are bytes. The frames come with
// the program, so unlike the user's files they are trusted to unfold to a sensible size.
func readExtract(name string) (*Array, error) {
	frame, err := extract.ReadFile("embedded/" + name + ".zst")
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	idx, err := z.DecodeAll(frame, nil)
	if err != nil {
		return nil, err
	}
	label := DefaultName + "/" + name
	t, shape, offset, err := readIDXHeader(bytes.NewReader(idx), label)
	if err != nil {
		return nil, err
	}
	body := idx[offset:]
	if n, ok := product(shape, 1); t != U8 || !ok || n != len(body) {
		return nil, wrongFile(label, "the program's own copy is damaged")
	}
	return &Array{Type: t, Shape: shape, Data: body}, nil
}
