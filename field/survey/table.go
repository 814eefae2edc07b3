package survey

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine bounds the length of a line in bytes.
const maxLine = 64 << 10

// table reads a file of separated values with a header, a line at a time.
type table struct {
	file      string
	scanner   *bufio.Scanner
	separator byte
	names     []string // of the columns, in lower case
	line      int      // number of the current line
	cells     []cell   // of the current line; reused
}

// cell is one value of a line.
type cell struct {
	text   string
	column int // of its first byte, from 1
}

// newTable reads the header.
func newTable(r io.Reader, file string) (*table, error) {
	t := &table{file: file, scanner: bufio.NewScanner(r)}
	t.scanner.Buffer(make([]byte, 0, 4096), maxLine)
	header, err := t.nextLine()
	if err == io.EOF {
		return nil, &Error{File: file, Problem: "the file is empty"}
	}
	if err != nil {
		return nil, err
	}
	t.separator = mostFrequent(header, ",;\t")
	if err := t.split(header); err != nil {
		return nil, err
	}
	return t, t.takeHeader()
}

func (t *table) takeHeader() error {
	for i, c := range t.cells {
		name := strings.ToLower(strings.TrimSpace(c.text))
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			return t.fault(c.column, "the first line must name the columns, such as id,x,y or id,lat,lon; it holds the number %q", name)
		}
		for _, earlier := range t.names {
			if name == earlier && name != "" {
				return t.fault(c.column, "the column %q is there twice", name)
			}
		}
		t.names = append(t.names, name)
		t.cells[i].text = name
	}
	return nil
}

// next moves to the next line that is not blank; io.EOF ends the table.
func (t *table) next() error {
	text, err := t.nextLine()
	if err != nil {
		return err
	}
	if err := t.split(text); err != nil {
		return err
	}
	if len(t.cells) != len(t.names) {
		return t.fault(0, "the line has %s, the header has %d", plural(len(t.cells), "value"), len(t.names))
	}
	return nil
}

func (t *table) nextLine() (string, error) {
	for t.scanner.Scan() {
		t.line++
		text := t.scanner.Text()
		if t.line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if !utf8.ValidString(text) {
			return "", t.fault(0, "the line is not UTF-8: save the file with that encoding")
		}
		if strings.TrimSpace(text) != "" {
			return text, nil
		}
	}
	switch err := t.scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		t.line++
		return "", t.fault(0, "the line is longer than %d bytes", maxLine)
	case err != nil:
		return "", &Error{File: t.file, Line: t.line + 1, Problem: "cannot be read", Cause: err}
	}
	return "", io.EOF
}

// split cuts a line into cells. A cell may stand in double quotes; a quote inside is doubled.
func (t *table) split(line string) error {
	t.cells = t.cells[:0]
	for at := 0; ; {
		if at < len(line) && line[at] == '"' {
			text, end, ok := unquote(line, at)
			if !ok || end < len(line) && line[end] != t.separator {
				return t.fault(at+1, "the quotes do not close before the next %q or the end of the line", t.separator)
			}
			t.cells = append(t.cells, cell{text, at + 1})
			at = end
		} else {
			end := strings.IndexByte(line[at:], t.separator)
			if end < 0 {
				end = len(line) - at
			}
			t.cells = append(t.cells, cell{line[at : at+end], at + 1})
			at += end
		}
		if at >= len(line) {
			return nil
		}
		at++
	}
}

// unquote reads the quoted cell that starts at the quote line[at]; end is behind its closing quote.
func unquote(line string, at int) (text string, end int, ok bool) {
	var b strings.Builder
	for i := at + 1; i < len(line); i++ {
		if line[i] != '"' {
			b.WriteByte(line[i])
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return b.String(), i + 1, true
	}
	return "", 0, false
}

// column is the position of a named column, -1 when there is none.
func (t *table) column(names ...string) int {
	for i, name := range t.names {
		for _, wanted := range names {
			if name == wanted {
				return i
			}
		}
	}
	return -1
}

// text is a cell without the blanks around it.
func (t *table) text(column int) string { return strings.TrimSpace(t.cells[column].text) }

// number reads a finite number; an empty cell is the fallback, unless that is NaN.
func (t *table) number(column int, fallback float64) (float64, error) {
	text := t.text(column)
	if text == "" && !math.IsNaN(fallback) {
		return fallback, nil
	}
	plain := text
	if t.separator == ';' && !strings.Contains(text, ".") {
		plain = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, t.fault(t.cells[column].column, "%s: %q is not a finite number", t.names[column], text)
	}
	return v, nil
}

func (t *table) fault(column int, format string, args ...any) *Error {
	return &Error{File: t.file, Line: t.line, Column: column, Problem: fmt.Sprintf(format, args...)}
}

func mostFrequent(text, candidates string) byte {
	best := candidates[0]
	for i := range len(candidates) {
		if strings.Count(text, candidates[i:i+1]) > strings.Count(text, string(best)) {
			best = candidates[i]
		}
	}
	return best
}

func plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
