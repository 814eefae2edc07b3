package protocol

// propose makes the change that follows from a complete round: who has voted and can be reached stays,
// unless it wishes to leave. It is nil if nobody stays.
func (m *Machine) propose(r *Reconcile, out map[ID]bool) *Change {
	leave, add := m.planned(out)
	c := &Change{From: m.view.Epoch, Add: add}
	stays := map[ID]bool{}
	for _, v := range r.Votes {
		if !out[v.ID] && !leave[v.ID] {
			stays[v.ID] = true
		}
	}
	if len(stays) == 0 {
		return nil
	}
	for _, member := range m.view.Members {
		if !stays[member.ID] {
			c.Remove = append(c.Remove, member.ID)
		}
	}
	c.Committed, c.Result = decide(m.view, r.Votes, stays, r.Last)
	return c
}

// decide says what becomes of the step in flight. Steps of voters differ by one at most, since a
// step is reduced only when all have committed the one before.
//
//   - If a voter has committed step s, and another has not: s counts. Everybody was prepared for it.
//   - If all that stay are prepared for the step after the highest that is committed, it counts too:
//     one that died may have committed it.
//   - Else nobody has committed it, nor will: one that stays is not prepared, and has voted. It is
//     reduced again.
func decide(view View, votes []Vote, stays map[ID]bool, last *Result) (committed uint64, result *Result) {
	for _, v := range votes {
		committed = max(committed, v.Committed)
	}
	behind := false
	var facts *Facts
	prepared := true
	for i, v := range votes {
		behind = behind || v.Committed < committed
		if !stays[v.ID] {
			continue
		}
		if facts == nil {
			facts = &votes[i].Facts
		}
		// Different facts never pass the token, so such a step is not committed anywhere.
		prepared = prepared && v.Prepared && v.Committed == committed && v.Facts == *facts
	}
	if !prepared {
		if behind {
			result = last
		}
		return committed, result
	}
	result = &Result{Step: committed + 1, Epoch: view.Epoch, Facts: *facts}
	for _, v := range votes {
		if v.Prepared && v.Committed == committed {
			result.Records = append(result.Records, Entry{v.ID, v.Record})
		}
	}
	view.inOrder(result.Records)
	return committed + 1, result
}
