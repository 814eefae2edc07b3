package data

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// labelColumns are the headings that name the label when none is given.
var labelColumns = []string{"label", "class", "target", "y"}

// csvMaxLine bounds a line, so that a file without line ends does not fill the memory.
const csvMaxLine = 1 << 20

// Table is a CSV file of numbers with one column of labels.
type Table struct {
	Columns []string // headings of the features; numbered when the file has none
	Values  []float32
	Labels  []int32
	Classes []string
}

// openCSV reads a data set from a file; the test split is taken from its rows.
func openCSV(path string, opt Options) (*Set, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := ReadCSV(f, path, opt.LabelColumn, opt.limit())
	if err != nil {
		return nil, err
	}
	ds, err := NewFloats(path, t.Values, []int{len(t.Columns)}, t.Labels, t.Classes)
	if err != nil {
		return nil, err
	}
	return opt.split(path, ds)
}

// ReadCSV reads a table from r. Fields are separated by comma, semicolon or tab, whichever
// the first line holds most of; a byte-order mark is skipped. The first line is a heading
// when two of its fields are not numbers, or one that names the label column. The label column is
// given by heading or by number from 1; when it is empty it is the one headed label, class, target or y, else the last. Every
// value that it holds is a class, called as it is spelled: in ascending order when all are
// numbers, which must be whole then, else in alphabetic order. Name stands for the file in
// errors. The values may take limit bytes at most; 0 means DefaultLimit.
func ReadCSV(r io.Reader, name, label string, limit int64) (*Table, error) {
	c, err := newCSVReader(r, name, limit)
	if err != nil {
		return nil, err
	}
	c.place = map[string]int32{}
	if err := c.first(label); err != nil {
		return nil, err
	}
	if err := c.rest(); err != nil {
		return nil, err
	}
	return c.finish()
}

// newCSVReader is a reader of a table without labels: those that want some give it a place for them.
func newCSVReader(r io.Reader, name string, limit int64) (*csvReader, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	src := bufio.NewReader(&lineLimit{r: r, name: name})
	if mark, err := src.Peek(2); err == nil && (string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff") {
		return nil, wrongCell(name, 1, 0, "", "the file is UTF-16, not UTF-8: save it as CSV in UTF-8")
	}
	if mark, err := src.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		if _, err := src.Discard(3); err != nil {
			return nil, err
		}
	}
	rd := csv.NewReader(src)
	rd.Comma = separator(src)
	rd.ReuseRecord = true
	rd.TrimLeadingSpace = rd.Comma != '\t'
	return &csvReader{Reader: rd, name: name, limit: limit}, nil
}

// separator guesses the separator from the first line: the one that it holds most of, but semicolons
// where as many commas, and one more, may be decimal ones.
func separator(src *bufio.Reader) rune {
	head, _ := src.Peek(src.Size())
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	commas, semicolons, tabs := bytes.Count(line, []byte{','}), bytes.Count(line, []byte{';'}), bytes.Count(line, []byte{'\t'})
	switch {
	case tabs > max(commas, semicolons):
		return '\t'
	case semicolons > 0 && semicolons+1 >= commas:
		return ';'
	}
	return ','
}

// csvReader gathers a table row by row.
type csvReader struct {
	*csv.Reader
	name  string
	limit int64
	label int // index of the label column
	table Table
	place map[string]int32 // of each label seen, in order of appearance; nil when labels are left out
	names []string

	words        bool  // a label is not a number
	fraction     error // the first label that is no whole number
	line, column int   // of the last label that was new
}

// rest reads all rows that follow.
func (c *csvReader) rest() error {
	for {
		switch record, err := c.next(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return c.wrong(err)
		default:
			if err := c.row(record); err != nil {
				return err
			}
		}
	}
}

// next reads a record of UTF-8 text.
func (c *csvReader) next() ([]string, error) {
	record, err := c.Read()
	if err != nil {
		return nil, err
	}
	for i, field := range record {
		if !utf8.ValidString(field) {
			line, column := c.FieldPos(i)
			return nil, wrongCell(c.name, line, column, "", notUTF8, clip(field))
		}
	}
	return record, nil
}

// notUTF8 says what to do about a file in another encoding.
const notUTF8 = "%q is not UTF-8: save the file as CSV in UTF-8"

// decimalComma matches a number such as 3,5 or 1.234,5.
var decimalComma = regexp.MustCompile(`^[+-]?[0-9.]*,[0-9]+([eE][+-]?[0-9]+)?$`).MatchString

// first reads the heading or the first row, and finds the label column.
func (c *csvReader) first(label string) error {
	record, err := c.next()
	if errors.Is(err, io.EOF) {
		return wrongFile(c.name, "the file is empty")
	}
	if err != nil {
		return c.wrong(err)
	}
	if len(record) < 2 {
		line, column := c.FieldPos(0)
		return wrongCell(c.name, line, column, "", "there is one column; want at least one feature and the label")
	}
	return c.begin(record, label)
}

// begin takes the heading or the first row.
func (c *csvReader) begin(record []string, label string) (err error) {
	heading := slices.Clone(record)
	hasHeading := isHeading(record, label)
	if !hasHeading {
		for i := range heading {
			heading[i] = strconv.Itoa(i + 1)
		}
	}
	if c.label, err = c.findLabel(heading, label); err != nil {
		return err
	}
	c.table.Columns = slices.Delete(heading, c.label, c.label+1)
	if hasHeading {
		return nil
	}
	return c.row(record)
}

// isHeading tells whether the first line names the columns.
func isHeading(record []string, label string) bool {
	words := 0
	for _, field := range record {
		if isWord(field) {
			words++
		}
	}
	if label != "" && slices.Contains(record, label) {
		return words > 0
	}
	// One word may be the label of a first row; two cannot be.
	return words > 1 || words == 1 && slices.ContainsFunc(record, func(s string) bool {
		return slices.Contains(labelColumns, strings.ToLower(strings.TrimSpace(s)))
	})
}

// findLabel gives the index of the label column.
func (c *csvReader) findLabel(heading []string, label string) (int, error) {
	if label == "" {
		for i, h := range heading {
			if slices.Contains(labelColumns, strings.ToLower(strings.TrimSpace(h))) {
				return i, nil
			}
		}
		return len(heading) - 1, nil
	}
	if i := slices.Index(heading, label); i >= 0 {
		return i, nil
	}
	if n, err := strconv.Atoi(label); err == nil && n >= 1 && n <= len(heading) {
		return n - 1, nil
	}
	return 0, wrongField(c.name, "label column", "there is no column %q; there are %s", label, strings.Join(heading, ", "))
}

// row takes one row's features and label.
func (c *csvReader) row(record []string) error {
	if int64(len(c.table.Values)+len(record))*4 > c.limit {
		line, _ := c.FieldPos(0)
		return wrongCell(c.name, line, 0, "", "the values take more than the limit of %d bytes", c.limit)
	}
	feature := 0
	for i, field := range record {
		if i == c.label {
			if c.place == nil {
				continue
			}
			if err := c.addLabel(strings.TrimSpace(field)); err != nil {
				return err
			}
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 32)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			line, column := c.FieldPos(i)
			hint := ""
			if decimalComma(strings.TrimSpace(field)) {
				hint = " (a decimal comma? numbers have a decimal point here)"
			}
			return wrongCell(c.name, line, column, "column "+c.table.Columns[feature], "%q is not a finite number%s", clip(field), hint)
		}
		c.table.Values = append(c.table.Values, float32(v))
		feature++
	}
	return nil
}

// addLabel numbers labels in order of appearance; finish puts them in order.
func (c *csvReader) addLabel(name string) error {
	at, ok := c.place[name]
	if !ok {
		if err := c.newLabel(name); err != nil {
			return err
		}
		at = int32(len(c.names))
		name = strings.Clone(name)
		c.place[name] = at
		c.names = append(c.names, name)
	}
	c.table.Labels = append(c.table.Labels, at)
	return nil
}

// newLabel looks at a label that was not there before.
func (c *csvReader) newLabel(name string) error {
	c.line, c.column = c.FieldPos(c.label)
	if name == "" {
		return wrongCell(c.name, c.line, c.column, "label", "is empty")
	}
	v, err := strconv.ParseFloat(name, 64)
	switch {
	case decimalComma(name):
		if c.fraction == nil {
			c.fraction = wrongCell(c.name, c.line, c.column, "label", notAClass+", or choose another column with --label-column", clip(name))
		}
	case errors.Is(err, strconv.ErrSyntax):
		c.words = true
	case c.fraction == nil && !whole(v):
		c.fraction = wrongCell(c.name, c.line, c.column, "label", notAClass+", or choose another column with --label-column", clip(name))
	}
	if len(c.names) < maxClasses {
		return nil
	}
	if err := c.measured(); err != nil {
		return err
	}
	return wrongCell(c.name, c.line, c.column, "label", "there are more than %d different labels: are these labels classes?", maxClasses)
}

// measured is the error of labels that are measured numbers, not classes.
func (c *csvReader) measured() error {
	if c.words {
		return nil // a number among names is a name
	}
	return c.fraction
}

// finish gives the classes their numbers.
func (c *csvReader) finish() (*Table, error) {
	if len(c.table.Labels) == 0 {
		return nil, wrongFile(c.name, "there is a heading but no row")
	}
	if err := c.measured(); err != nil {
		return nil, err
	}
	if err := support(len(c.names), len(c.table.Labels)); err != nil {
		return nil, wrongCell(c.name, c.line, c.column, "label", "%w", err)
	}
	c.table.Classes = slices.Clone(c.names)
	if c.words {
		slices.Sort(c.table.Classes)
	} else {
		slices.SortFunc(c.table.Classes, compareNumbers)
	}
	final := make([]int32, len(c.names))
	for i, name := range c.table.Classes {
		final[c.place[name]] = int32(i)
	}
	for i, at := range c.table.Labels {
		c.table.Labels[i] = final[at]
	}
	return &c.table, nil
}

// compareNumbers orders spelled numbers by value, and those of one value by spelling.
func compareNumbers(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// wrong turns an error of the CSV syntax into one with the place.
func (c *csvReader) wrong(err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(e.Err, csv.ErrFieldCount) {
			return wrongCell(c.name, e.Line, e.Column, "", "the row has another number of fields than the first, which has %d", c.FieldsPerRecord)
		}
		return wrongCell(c.name, e.Line, e.Column, "", "%w", e.Err)
	}
	if e, ok := errors.AsType[*InputError](err); ok {
		return e
	}
	return wrongFile(c.name, "%w", err)
}

// lineLimit is a reader that refuses a line over csvMaxLine bytes.
type lineLimit struct {
	r      io.Reader
	name   string
	line   int // complete lines so far
	length int // of the line that is being read
}

func (l *lineLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for rest := p[:n]; ; {
		at := bytes.IndexByte(rest, '\n')
		if at < 0 {
			l.length += len(rest)
			break
		}
		l.line++
		l.length = 0
		rest = rest[at+1:]
	}
	if l.length > csvMaxLine {
		return 0, wrongCell(l.name, l.line+1, 0, "", "the line is longer than %d bytes", csvMaxLine)
	}
	return n, err
}
