package control

import (
	"encoding/json"
	"fmt"
	"time"
)

// Decision is a change that a policy proposed and the loop accepted.
type Decision struct {
	ID      uint64       `json:"id"` // 1, 2, … in the order of the journal
	Time    time.Time    `json:"time"`
	Point   uint64       `json:"point"`   // in force from the first item after this point
	Policy  string       `json:"policy"`  // who proposed it
	Subject string       `json:"subject"` // which setting it changes
	Old     Setting      `json:"old"`
	New     Setting      `json:"new"` // may equal Old: a choice that was confirmed
	Reason  string       `json:"reason"`
	Signals []Signal     `json:"signals,omitempty"` // what it rests on
	Expect  *Expectation `json:"expect,omitempty"`  // nil when nothing can be measured, as after a stop
	Trial   bool         `json:"trial,omitempty"`   // made to learn what the setting brings
	// Elsewhere: no policy of this loop proposed it; see Taken.
	Elsewhere bool `json:"elsewhere,omitempty"`

	// What happened later; these are records of their own in the journal.
	Observed *Outcome `json:"observed,omitempty"`
	Undone   bool     `json:"undone,omitempty"` // a resume went back to a point before it
}

// Change formats subject, old and new setting for people.
func (d *Decision) Change() string {
	return fmt.Sprintf("%s %v → %v", d.Subject, d.Old, d.New)
}

// Statistic says how the samples of a signal become the one number that is
// compared with an expectation.
type Statistic string

// The statistics of an expectation.
const (
	Median  Statistic = "median"
	Lowest  Statistic = "lowest"
	Highest Statistic = "highest"
)

// Expectation is what a decision should bring: the statistic of the signal
// over the next Horizon points.
type Expectation struct {
	Signal    string    `json:"signal"`
	Unit      string    `json:"unit,omitempty"`
	Statistic Statistic `json:"statistic"`
	Value     float64   `json:"value"`   // finite
	Horizon   uint64    `json:"horizon"` // points after the decision
}

// Outcome is what was observed after a decision, up to the end of its horizon
// or to the next decision on the same subject, whichever came first.
type Outcome struct {
	Decision uint64    // its ID
	Time     time.Time // when it was looked back at
	Point    uint64
	Samples  int     // how many samples Value stands for; 0: nothing was measured
	Value    float64 // the expectation's statistic of them
	Failed   string  // why the decision could not be applied, empty when it was
}

type outcomeJSON struct {
	Decision uint64    `json:"decision"`
	Time     time.Time `json:"time"`
	Point    uint64    `json:"point"`
	Samples  int       `json:"samples"`
	Value    number    `json:"value"`
	Failed   string    `json:"failed,omitempty"`
}

// MarshalJSON writes the outcome as an object.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(outcomeJSON{o.Decision, o.Time, o.Point, o.Samples, number(o.Value), o.Failed})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Outcome) UnmarshalJSON(text []byte) error {
	var w outcomeJSON
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*o = Outcome{w.Decision, w.Time, w.Point, w.Samples, float64(w.Value), w.Failed}
	return nil
}
