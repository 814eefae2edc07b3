package data

import (
	"embed"
	"io/fs"
)

// The extract of Fashion-MNIST, made by internal/extract; embedded/LICENSE is its licence.
//
//go:embed embedded/*.gz
var extract embed.FS

// openExtract reads the embedded extract.
func openExtract(opt Options) (*Set, error) {
	folder, err := fs.Sub(extract, "embedded")
	if err != nil {
		return nil, err
	}
	set, err := openFour(folder, "fashion-mnist-mini", fashionClasses, opt)
	if err != nil {
		return nil, err
	}
	set.Origin = "embedded in the program"
	return set, nil
}
