package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// num writes a number with at most three digits behind the point and thousands apart.
func num(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "–"
	}
	text := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	whole, rest, dot := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + rest
	}
	return whole
}

func whole(v float64) string { return num(math.Round(v)) }

// rounds writes a number of rounds: whole ones when there are many.
func rounds(v float64) string {
	if v >= 100 {
		return whole(v)
	}
	return num(math.Round(v*10) / 10)
}

// dur writes a duration in whole seconds, or finer below ten.
func dur(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// plural writes a number of things, as in "1 stop" or "2 stops".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return num(float64(n)) + " " + noun + "s"
}

// span writes a long time in the unit that suits it.
func span(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{365.25 * 86400, "years"}, {86400, "days"}, {3600, "hours"}} {
		if seconds >= 2*u.size {
			return fmt.Sprintf("%.1f %s", seconds/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f minutes", seconds/60)
}
