package protocol

import "fmt"

// Waiting says in words what this member waits for, to follow "waits for"; it is empty while the
// protocol waits for nothing but the step itself.
func (m *Machine) Waiting() string {
	own := m.tally.own
	switch {
	case m.ended:
		return ""
	case m.view.Epoch == 0:
		return "a member to let it in"
	case m.stalled != "":
		return "a new view: " + m.stalled
	case m.ring.stage == asking:
		return fmt.Sprintf("the membership service, to change view %d", m.view.Epoch)
	case m.ring.frozen:
		return fmt.Sprintf("view %d to change, attempt %d led by %s%s", m.view.Epoch, m.ring.promised.Attempt,
			m.view.Members[m.ring.promised.Rank].Name, m.passing())
	case len(m.ring.suspects) > 0:
		return fmt.Sprintf("view %d to change%s", m.view.Epoch, m.passing())
	case own == nil:
		return ""
	}
	for i, t := range m.tally.children {
		if child := 2*m.rank + 1 + i; child < len(m.view.Members) && t == nil {
			return fmt.Sprintf("%s to have step %d reduced", m.view.Members[child].Name, m.committed+1)
		}
	}
	return fmt.Sprintf("the commit of step %d by %s", m.committed+1, m.view.Members[(m.rank-1)/2].Name)
}

// passing names the suspects.
func (m *Machine) passing() string {
	if ids := m.without(nil); len(ids) > 0 {
		return " without " + m.names(ids)
	}
	return ""
}
