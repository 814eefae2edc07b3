package steplog

import (
	"fmt"
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

// Merge reads the logs of several workers of one group and returns each step once, in order. A worker
// that joined late or was cut off for a while lacks steps that others have. Steps that nobody has, and
// steps that are told differently, are errors.
func Merge(dirs ...string) ([]Record, error) {
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
			if !known {
				steps[r.Step] = told{r, dir}
			}
		}
	}
	var all []Record
	for _, t := range steps {
		all = append(all, t.Record)
	}
	slices.SortFunc(all, func(a, b Record) int { return int(int64(a.Step) - int64(b.Step)) })
	for i := 1; i < len(all); i++ {
		if all[i].Step != all[i-1].Step+1 {
			return all[:i], fmt.Errorf("no log has the steps from %d to %d", all[i-1].Step+1, all[i].Step-1)
		}
	}
	return all, nil
}
