package steplog

import (
	"fmt"
	"maps"
	"slices"
)

// ConflictError says that two logs tell a step differently.
type ConflictError struct {
	Step uint64
	Dirs [2]string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("step %d: %s and %s tell different things", e.Step, e.Dirs[0], e.Dirs[1])
}

// GapError says that no log has some steps, as after a full disk.
type GapError struct{ From, To uint64 }

func (e *GapError) Error() string {
	return fmt.Sprintf("no log has the steps from %d to %d", e.From, e.To)
}

// Runs reads the logs of several workers of one group and returns each step once, in order, cut where
// steps are missing from all logs. A worker that joined late or was cut off for a while lacks steps that
// others have. Steps that are told differently are a ConflictError.
func Runs(dirs ...string) (runs [][]Record, err error) {
	type told struct {
		Record
		dir string
	}
	steps := map[uint64]told{}
	for _, dir := range dirs {
		for r, err := range Read(dir) {
			if err != nil {
				return nil, err
			}
			before, known := steps[r.Step]
			if known && !before.Equal(&r) {
				return nil, &ConflictError{r.Step, [2]string{before.dir, dir}}
			}
			if !known || before.Hash == 0 { // which one of them may not have known
				steps[r.Step] = told{r, dir}
			}
		}
	}
	from := -1 // where the last run begins
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		if from < 0 || step != runs[from][len(runs[from])-1].Step+1 {
			runs = append(runs, nil)
			from++
		}
		runs[from] = append(runs[from], steps[step].Record)
	}
	return runs, nil
}

// Merge is Runs where nothing is missing between the first step and the last; else it returns the first
// run and a GapError.
func Merge(dirs ...string) ([]Record, error) {
	runs, err := Runs(dirs...)
	switch {
	case err != nil || len(runs) == 0:
		return nil, err
	case len(runs) > 1:
		return runs[0], &GapError{runs[0][len(runs[0])-1].Step + 1, runs[1][0].Step - 1}
	}
	return runs[0], nil
}
