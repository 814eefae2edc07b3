package protocol

import (
	"fmt"
	"slices"
)

// ID is unique to one incarnation of a worker. 0 is no worker.
type ID uint64

// Member is a worker as the others know it.
type Member struct {
	ID   ID
	Name string // stays the same over incarnations
	Addr string // where it listens
	Host string // the boot id of its machine: members of one host share memory
}

func (m Member) long() bool { return max(len(m.Name), len(m.Addr), len(m.Host)) > maxString }

// View is the list of members of one epoch, oldest first: a member's rank is its index, and rank 0 is
// never one that has just joined.
type View struct {
	Epoch   uint64 // the first is 1
	Members []Member
}

// Rank returns the index of a member, -1 for none.
func (v View) Rank(id ID) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
}

// Has says whether id is a member.
func (v View) Has(id ID) bool { return v.Rank(id) >= 0 }

// between counts the members strictly between two ranks on the ring, going up from a to b, that
// are not left out.
func (v View) between(a, b int, out map[ID]bool) int {
	n := 0
	for r := (a + 1) % len(v.Members); r != b; r = (r + 1) % len(v.Members) {
		if !out[v.Members[r].ID] {
			n++
		}
	}
	return n
}

// drop removes the members of a list that are in the view.
func (v View) drop(list []Member) []Member {
	return slices.DeleteFunc(list, func(m Member) bool { return v.Has(m.ID) })
}

// check says what makes a view unusable.
func (v View) check() error {
	if v.Epoch == 0 {
		return fmt.Errorf("a view needs an epoch from 1 on")
	}
	if len(v.Members) == 0 || len(v.Members) > MaxMembers {
		return fmt.Errorf("a view of %d members: 1 to %d are possible", len(v.Members), MaxMembers)
	}
	ids, names := make(map[ID]bool, len(v.Members)), make(map[string]bool, len(v.Members))
	for _, m := range v.Members {
		if m.ID == 0 || ids[m.ID] || names[m.Name] {
			return fmt.Errorf("member %q (%x) is in the view twice, or has no id", m.Name, uint64(m.ID))
		}
		if m.long() {
			return fmt.Errorf("name, address or host of member %q is longer than %d bytes", m.Name, maxString)
		}
		ids[m.ID], names[m.Name] = true, true
	}
	return nil
}

// Change leads from one view to the next.
type Change struct {
	From   uint64 // the epoch that it ends
	Remove []ID
	Add    []Member
	// Committed is the last step that each member of the new view has committed once it installs it.
	Committed uint64
	// Result is that of step Committed, for the members that have not committed it yet; nil if
	// there are none.
	Result *Result
}

// Apply returns the view that follows. Those who stay keep their order.
func (v View) Apply(c *Change) View {
	next := View{Epoch: v.Epoch + 1, Members: make([]Member, 0, len(v.Members)+len(c.Add))}
	gone := set(c.Remove)
	for _, m := range v.Members {
		if !gone[m.ID] {
			next.Members = append(next.Members, m)
		}
	}
	next.Members = append(next.Members, c.Add...)
	return next
}

func set(ids []ID) map[ID]bool {
	s := make(map[ID]bool, len(ids))
	for _, id := range ids {
		s[id] = true
	}
	return s
}
