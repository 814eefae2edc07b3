package data

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadRows reads the rows of a CSV file, in the form that ReadCSV takes, as samples of so many
// features, one after the other, not normalised. The file may have a label column, which is found
// like there and left out, or none: then the first line is a heading when a field is no number.
func ReadRows(path string, features int, label string) ([]float32, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRows(f, path, features, label)
}

func readRows(r io.Reader, name string, features int, label string) ([]float32, error) {
	c, err := newCSVReader(r, name, DefaultLimit)
	if err != nil {
		return nil, err
	}
	record, err := c.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, wrongFile(name, "the file is empty")
	case err != nil:
		return nil, c.wrong(err)
	}
	if err := c.firstRow(record, features, label); err != nil {
		return nil, err
	}
	if err := c.rest(); err != nil {
		return nil, err
	}
	if len(c.table.Values) == 0 {
		return nil, wrongFile(name, "there is a heading but no row")
	}
	return c.table.Values, nil
}

// firstRow takes the heading or first row of a file with or without a label column.
func (c *csvReader) firstRow(record []string, features int, label string) error {
	switch len(record) {
	case features + 1:
		return c.begin(record, label)
	case features:
	default:
		return wrongCell(c.name, 1, 0, "", "the row has %d fields; want %d numbers, with or without a label", len(record), features)
	}
	c.label = -1
	c.table.Columns = slices.Clone(record)
	if slices.ContainsFunc(record, isWord) {
		return nil
	}
	for i := range record {
		c.table.Columns[i] = strconv.Itoa(i + 1)
	}
	return c.row(record)
}

// isWord tells whether a field is neither a number nor meant as one.
func isWord(field string) bool {
	field = strings.TrimSpace(field)
	_, err := strconv.ParseFloat(field, 32)
	return errors.Is(err, strconv.ErrSyntax) && !decimalComma(field)
}
