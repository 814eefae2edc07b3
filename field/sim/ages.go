package sim

import "math"

// ages is a histogram of times in seconds with buckets that grow by 1 %.
type ages struct {
	count [2048]int64
	total int64
}

const (
	ageStep  = 0.00995033 // ln 1.01
	firstAge = 1e-3       // upper edge of bucket 0, in seconds
)

func bucketOf(seconds float64) int {
	if seconds <= firstAge {
		return 0
	}
	return min(int(math.Ceil(math.Log(seconds/firstAge)/ageStep)), len(ages{}.count)-1)
}

func (a *ages) add(seconds float64, n int64) {
	a.count[bucketOf(seconds)] += n
	a.total += n
}

// quantile is the age that the part q of all does not exceed, to 1 %; 0 when there are none.
func (a *ages) quantile(q float64) float64 {
	want := int64(math.Ceil(q * float64(a.total)))
	for i, n := range a.count {
		if want -= n; want <= 0 && a.total > 0 {
			return firstAge * math.Exp(float64(i)*ageStep)
		}
	}
	return 0
}
