package report

import (
	"fmt"
	"math"
	"slices"

	"millrace.dev/field"
	"millrace.dev/field/mission"
)

// bar is a column of the histogram, in the units of its drawing (600 by 160).
type bar struct {
	X, Y, W, H float64
	Label      string
	Count      int
	From, To   string
}

// histogram counts served sensors by load in up to 24 columns of equal width.
func histogram(m *mission.Mission) []bar {
	var loads []float64
	for i, load := range m.Plan.Load {
		if m.Plan.Parent[i] != field.NoRoute {
			loads = append(loads, load)
		}
	}
	if len(loads) == 0 {
		return nil
	}
	top := slices.Max(loads)
	columns, width := 24, top/24
	if whole := math.Ceil(top); top <= 24 && top > 0 {
		columns, width = int(whole), 1 // one column for each number of packets
	}
	if width == 0 {
		columns, width = 1, 1
	}
	counts := make([]int, columns)
	for _, load := range loads {
		counts[min(max(int(math.Ceil(load/width))-1, 0), columns-1)]++
	}
	most, bars := float64(slices.Max(counts)), make([]bar, columns)
	for k, count := range counts {
		height := 150 * float64(count) / most
		from, to := num(width*float64(k)), num(width*float64(k+1))
		bars[k] = bar{X: 600 / float64(columns) * float64(k), Y: 160 - height, W: 600/float64(columns) - 2, H: height, Count: count, From: from, To: to,
			Label: fmt.Sprintf("%s: more than %s and up to %s packets", plural(count, "sensor"), from, to)}
	}
	return bars
}
