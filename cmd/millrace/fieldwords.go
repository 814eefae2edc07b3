package main

import (
	"fmt"
	"math"
	"strconv"
)

// figure writes a number plainly: four digits, or whole and with thousands separated where it is large.
func figure(v float64) string {
	if math.Abs(v) >= 1000 && math.Abs(v) < 1e15 {
		return count(int64(math.Round(v)))
	}
	rounded, err := strconv.ParseFloat(fmt.Sprintf("%.4g", v), 64)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// plural writes a number of things, as in "1 stop" or "2 stops".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(int64(n)) + " " + noun + "s"
}
