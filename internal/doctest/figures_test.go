package doctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// measured is a link to a table of results, whose title names rows and the figures that stand in the text.
var measured = regexp.MustCompile(`\]\(([^)#: ]*bench/results/[^)#: ]+)(?: "([^"]*)")?\)`)

// TestFigures compares the figures in the pages with the tables of results that they link to.
func TestFigures(t *testing.T) {
	compared := 0
	for _, path := range pages(t) {
		for paragraph := range strings.SplitSeq(read(t, path), "\n\n") {
			for _, found := range measured.FindAllStringSubmatch(paragraph, -1) {
				n, err := checkFigures(found[2], measured.ReplaceAllString(paragraph, ""), filepath.Join(filepath.Dir(path), found[1]))
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
				compared += n
			}
		}
	}
	if compared == 0 {
		t.Error("no page gives a figure of any table")
	}
}

// checkFigures compares a title, "ROW: FIGURE, ROW: FIGURE", with the paragraph and with the table.
func checkFigures(title, paragraph, table string) (compared int, err error) {
	if title == "" {
		return 0, nil
	}
	text, err := os.ReadFile(table)
	if err != nil {
		return 0, err
	}
	for part := range strings.SplitSeq(title, ", ") {
		row, figure, _ := strings.Cut(part, ": ")
		if !regexp.MustCompile(`(^|[^\d.])` + regexp.QuoteMeta(figure) + `($|[^\d])`).MatchString(paragraph) {
			return compared, fmt.Errorf("the title of a link says %q, the text does not", figure)
		}
		ratio, err := ratioOf(string(text), row)
		if err != nil {
			return compared, fmt.Errorf("%s: %w", table, err)
		}
		_, digits, _ := strings.Cut(figure, ".")
		if got := strconv.FormatFloat(ratio, 'f', len(digits), 64); got != figure {
			return compared, fmt.Errorf("the ratio of %s is %s, not %s", row, got, figure)
		}
		compared++
	}
	return compared, nil
}

// ratioOf returns what stands in the column "ratio" of a table's row.
func ratioOf(table, row string) (float64, error) {
	column := -1
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		for i, cell := range cells {
			if strings.TrimSpace(cell) == "ratio" {
				column = i
			}
		}
		if column > 0 && len(cells) > column && strings.TrimSpace(cells[1]) == row {
			return strconv.ParseFloat(strings.TrimSpace(cells[column]), 64)
		}
	}
	return 0, fmt.Errorf("no row %q with a ratio", row)
}

func TestCheckFigures(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.md")
	if err := os.WriteFile(table, []byte("| row | ours | ratio |\n|---|---|---|\n| a/b | 7 | 0.578 |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		title, text string
		right       bool
	}{
		{"a/b: 0.58", "It takes 0.58 of the time.", true},
		{"a/b: 0.578", "It takes 0.578.", true},
		{"a/b: 0.57", "It takes 0.57.", false},
		{"a/b: 0.58", "It takes 0.57.", false},
		{"a/b: 0.58", "It takes 10.58 or 0.581.", false},
		{"a/c: 0.58", "It takes 0.58.", false},
	} {
		if n, err := checkFigures(c.title, c.text, table); (err == nil) != c.right || (n == 1) != c.right {
			t.Errorf("%q of %q: %d compared, error %v", c.title, c.text, n, err)
		}
	}
}
