package train

import "millrace.dev/learn/internal/vec"

// Metrics are plain sums over samples, so that batches of any size weigh what they hold. Where a
// model has one output and several labels a sample, as for each place of a sequence, they are
// sums over labels. Without labels, or with several outputs, only samples and losses count.
type Metrics struct {
	Samples   int     `json:"samples"`
	LossSum   float64 `json:"loss_sum"`            // of the samples' losses
	Correct   int     `json:"correct"`             // samples whose label has the largest logit
	InTop     int     `json:"in_top"`              // samples whose label is among the TopK largest
	Confusion [][]int `json:"confusion,omitempty"` // rows are labels, columns predictions; nil when it was not counted
}

// TopK is the K of Metrics.InTop. For others count Rank in an evaluation's batches.
const TopK = 5

// Loss is the mean loss of a sample, 0 when there are none.
func (m Metrics) Loss() float64 { return ratio(m.LossSum, m.Samples) }

// Accuracy is the share of correct samples, 0 when there are none.
func (m Metrics) Accuracy() float64 { return ratio(float64(m.Correct), m.Samples) }

// TopAccuracy is the share of samples whose label is among the TopK largest logits.
func (m Metrics) TopAccuracy() float64 { return ratio(float64(m.InTop), m.Samples) }

func ratio(x float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return x / float64(n)
}

// add counts a batch with its mean loss, its logits (rows of classes) and labels. A sample
// whose label is ignored counts for nothing, as in the mean of the loss.
func (m *Metrics) add(loss float64, logits []float32, labels []int32, ignore *int32) {
	classes := len(logits) / max(len(labels), 1)
	counted := 0
	for i, y := range labels {
		if ignore != nil && y == *ignore {
			continue
		}
		counted++
		m.sample(logits[i*classes:(i+1)*classes], int(y))
	}
	m.Samples += counted
	m.LossSum += loss * float64(counted)
}

// addAll adds what another sum has counted, apart from the confusion matrix.
func (m *Metrics) addAll(o Metrics) {
	m.Samples += o.Samples
	m.LossSum += o.LossSum
	m.Correct += o.Correct
	m.InTop += o.InTop
}

func (m *Metrics) sample(logits []float32, y int) {
	guess := vec.ArgMax(logits)
	if guess == y {
		m.Correct++
	}
	if Rank(logits, y) < TopK {
		m.InTop++
	}
	if m.Confusion != nil && guess >= 0 {
		m.Confusion[y][guess]++
	}
}

// Rank is how many logits of a row are larger than that of a label: the label is among the k
// largest where it is below k.
func Rank(row []float32, label int) int {
	n := 0
	for _, x := range row {
		if x > row[label] {
			n++
		}
	}
	return n
}
