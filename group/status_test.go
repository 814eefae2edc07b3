package group

import (
	"errors"
	"testing"
	"time"
)

func TestStatusInWords(t *testing.T) {
	now := time.Now()
	at16 := Status{Step: 16}
	for _, c := range []struct {
		s              situation
		doing, waiting string
	}{
		{situation{err: errors.New("torn")}, "nothing: torn", ""},
		{situation{left: true}, "nothing: it has left", ""},
		{situation{incoming: true}, "joining", "for the trainer to begin"},
		{situation{incoming: true, asked: "unix:/w0"}, "joining", "for an answer from unix:/w0"},
		{situation{incoming: true, last: "unix:/w0: refused"}, "joining", "to try again: unix:/w0: refused"},
		{situation{incoming: true, asked: "unix:/w0", heardOf: true}, "joining", "for the next step's commit, with which unix:/w0 lets it in"},
		{situation{Status: at16, member: true}, "computing step 17", ""},
		{situation{Status: at16, member: true, unlinked: []string{"w1", "w2"}}, "computing step 17", "for a connection to w1, w2"},
		{situation{Status: at16, member: true, attaching: true}, "computing step 17", "for the members to show each other their memory"},
		{
			situation{Status: at16, member: true, reported: true, slow: "w2", missing: "gradients between elements 0 and 9", now: now, heard: now.Add(-200 * time.Millisecond)},
			"reducing step 17", "for w2: gradients between elements 0 and 9; it was heard 0.2 s ago",
		},
		{situation{Status: at16, member: true, reported: true, missing: "its own part of the sum"}, "reducing step 17", "for its own part of the sum"},
		{situation{Status: at16, member: true, reported: true, draining: true}, "reducing step 17", "for what is left of the reduction in the view before"},
		{situation{Status: at16, member: true, reported: true, reduced: true, changing: "w1 to have step 17 reduced"}, "committing step 17", "for w1 to have step 17 reduced"},
		{situation{Status: at16, member: true, changes: true, changing: "view 3 to change without w1", slow: "w2"}, "computing step 17", "for view 3 to change without w1"},
		{situation{Status: at16, member: true, restoring: true}, "following step 17 without a share", "for the members to copy their state at the end of the step"},
		{situation{Status: at16, member: true, restoring: true, size: 2e8, copied: 5e7}, "following step 17 without a share", "for the state: 50 of 200 MB are here"},
	} {
		if s := c.s.status(); s.Doing != c.doing || s.Waiting != c.waiting {
			t.Errorf("%q waits %q, not %q, %q", s.Doing, s.Waiting, c.doing, c.waiting)
		}
	}
}
