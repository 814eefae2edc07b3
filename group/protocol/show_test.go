package protocol

import (
	"fmt"
	"strings"
)

// names tell what protocol values are in a line. Members without a name go by their number.
type names map[ID]string

func (n names) id(id ID) string {
	if name, there := n[id]; there {
		return name
	}
	return fmt.Sprint(uint64(id))
}

func (n names) ids(ids []ID) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = n.id(id)
	}
	return strings.Join(list, " ")
}

func (n names) members(members []Member) string {
	list := make([]string, len(members))
	for i, m := range members {
		if list[i] = m.Name; n == nil {
			list[i] = fmt.Sprintf("%s#%d", m.Name, m.ID)
		}
	}
	return strings.Join(list, " ")
}

func (n names) records(entries []Entry) string {
	var list []string
	for _, e := range entries {
		s := n.id(e.ID)
		if e.Record.Leave {
			s += "(leaves)"
		}
		if len(e.Record.Join) > 0 {
			s += "(brings " + n.members(e.Record.Join) + ")"
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func (n names) result(r *Result) string {
	s := fmt.Sprintf("step %d of view %d: %v, %d samples, told by %s", r.Step, r.Epoch, Commit{r}.Outcome(), r.Facts.Weight, n.records(r.Records))
	if c := r.Culprits(); c != nil {
		s += ", not finite at " + n.ids(c)
	}
	if d := r.Diverged(); d != nil {
		s += ", diverged at " + n.ids(d)
	}
	return s
}

func (n names) change(c *Change) string {
	if c == nil {
		return "nothing"
	}
	s := fmt.Sprintf("view %d to %d", c.From, c.From+1)
	if len(c.Remove) > 0 {
		s += " without " + n.ids(c.Remove)
	}
	if len(c.Add) > 0 {
		s += " with " + n.members(c.Add)
	}
	if c.Result != nil {
		return s + fmt.Sprintf(", commit step %d", c.Committed)
	}
	return s + fmt.Sprintf(", after step %d", c.Committed)
}

// votes shows a vote as its member and last step, and + if the next is prepared.
func (n names) votes(votes []Vote) string {
	var list []string
	for _, v := range votes {
		s := fmt.Sprintf("%s:%d", n.id(v.ID), v.Committed)
		if v.Prepared {
			s += "+"
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func (n names) message(msg Message) string {
	without := func(out []ID) string {
		if len(out) == 0 {
			return ""
		}
		return ", past " + n.ids(out)
	}
	switch m := msg.(type) {
	case *Token:
		return fmt.Sprintf("token, step %d of view %d prepared by %s", m.Step, m.Epoch, n.records(m.Records))
	case *Verdict:
		return fmt.Sprintf("verdict, step %d of view %d", m.Result.Step, m.Result.Epoch)
	case *Reconcile:
		s := fmt.Sprintf("reconcile view %d, ballot %d.%d, votes %s%s", m.Epoch, m.Ballot.Attempt, m.Ballot.Rank, n.votes(m.Votes), without(m.Out))
		if m.Proposal != nil {
			s += fmt.Sprintf(", accepted in %d.%d %s", m.Accepted.Attempt, m.Accepted.Rank, n.change(m.Proposal))
		}
		if m.Base != nil {
			s += ", began by " + n.change(m.Base)
		}
		if m.View != nil {
			s += ", whole view"
		}
		return s
	case *Accept:
		s := "accept "
		if m.Chosen {
			s = "chosen "
		}
		s += n.change(m.Change) + without(m.Out)
		if len(m.Acks) > 0 {
			s += fmt.Sprintf(", ballot %d.%d accepted by %s", m.Ballot.Attempt, m.Ballot.Rank, n.ids(m.Acks))
		}
		return s
	case *Installed:
		s := "installed " + n.change(m.Change)
		if m.View != nil {
			s += ", whole view"
		}
		return s
	case *Beat:
		return fmt.Sprintf("beat, view %d", m.Epoch)
	case *Fence:
		return fmt.Sprintf("fence, view %d", m.Epoch)
	}
	return fmt.Sprintf("%T", msg)
}
