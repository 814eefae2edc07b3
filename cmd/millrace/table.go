package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table prints rows under a header in aligned columns. A column whose cells
// all begin like a number is aligned to the right. Rows may be shorter than
// the header.
func table(w io.Writer, header []string, rows [][]string) error {
	widths, numeric := measure(header, rows)
	for _, row := range append([][]string{header}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if numeric[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func measure(header []string, rows [][]string) (widths []int, numeric []bool) {
	widths, numeric = make([]int, len(header)), make([]bool, len(header))
	for i, name := range header {
		widths[i] = utf8.RuneCountInString(name)
		numeric[i] = len(rows) > 0
		for _, row := range rows {
			if i >= len(row) {
				continue
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			numeric[i] = numeric[i] && beginsLikeNumber(row[i])
		}
	}
	return widths, numeric
}

func beginsLikeNumber(cell string) bool {
	digits := strings.TrimLeft(cell, "+-.")
	return cell == "" || cell == "-" || digits != "" && digits[0] >= '0' && digits[0] <= '9'
}

// count writes n with thousands separated, as in 60,000.
func count(n int64) string {
	digits := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// size writes a number of bytes in binary units, as in 1.5 GiB.
func size(bytes uint64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/1024, 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}
