package group

import (
	"context"
	"sync"
	"testing"
)

// TestFirstProposalCounts: of those who want to end the same view at once one has its way, and all are told whose it
// was; so are those who come later or with an earlier view.
func TestFirstProposalCounts(t *testing.T) {
	register := &fallible{}
	authority := ByRegister(register)
	propose := func(epoch uint64, change string) string {
		held, err := authority.Propose(context.Background(), Proposal{Epoch: epoch, Change: []byte(change)})
		if err != nil || held.Epoch < epoch {
			t.Errorf("view %d: %+v, %v", epoch, held, err)
		}
		return string(held.Change)
	}
	for epoch := uint64(1); epoch <= 20; epoch++ {
		var answers [6]string
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = propose(epoch, string(rune('a'+i))) })
		}
		all.Wait()
		for i, a := range answers {
			if a != answers[0] {
				t.Fatalf("view %d: %q holds for one, %q for another", epoch, answers[0], answers[i])
			}
		}
		if late := propose(epoch, "late"); late != answers[0] {
			t.Errorf("view %d: after %q came %q", epoch, answers[0], late)
		}
		if behind := propose(1, "behind"); behind != answers[0] {
			t.Errorf("view %d: one that is behind hears of %q, not of %q", epoch, behind, answers[0])
		}
	}
}
