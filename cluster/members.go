package cluster

import (
	"bytes"
	"context"
	"strings"
)

// Member is who is entered under a name.
type Member struct {
	Name        string
	Value       []byte
	Incarnation uint64
}

// MemberChange is a member that came or went. A name that is taken over goes
// and comes: two changes.
type MemberChange struct {
	Member
	Left    bool
	Expired bool // it left because its lease was not renewed
}

// Members returns who is there, by name.
func (c *Cluster) Members(ctx context.Context) ([]Member, error) {
	members, w, err := c.WatchMembers(ctx)
	if err != nil {
		return nil, err
	}
	w.Close()
	return members, nil
}

// MemberWatch reports who comes and goes. It belongs to one goroutine.
type MemberWatch struct {
	w       *Watch
	present map[string]Member
	pending []MemberChange
}

// WatchMembers returns who is there, by name, and a watch of who comes and
// goes since.
func (c *Cluster) WatchMembers(ctx context.Context) ([]Member, *MemberWatch, error) {
	found, w, err := c.watch(ctx, membersKey)
	if err != nil {
		return nil, nil, err
	}
	m := &MemberWatch{w: w, present: map[string]Member{}}
	members := make([]Member, len(found))
	for i, s := range found {
		members[i] = member(s)
		m.present[members[i].Name] = members[i]
	}
	return members, m, nil
}

func member(s stored) Member {
	return Member{strings.TrimPrefix(s.Key, membersKey+"."), s.Value, s.incarnation}
}

// Next waits for the next change, as [Watch.Next] does.
func (m *MemberWatch) Next(ctx context.Context) (MemberChange, error) {
	for len(m.pending) == 0 {
		s, err := m.w.next(ctx)
		if err != nil {
			return MemberChange{}, err
		}
		if s.Key != m.w.c.barrier {
			m.take(s)
		}
	}
	change := m.pending[0]
	m.pending = m.pending[1:]
	return change, nil
}

// take compares a message with who is known to be there; a renewal changes
// nothing.
func (m *MemberWatch) take(s stored) {
	now := member(s)
	before, was := m.present[now.Name]
	switch {
	case s.gone && was:
		delete(m.present, now.Name)
		m.pending = append(m.pending, MemberChange{before, true, s.expired})
		return
	case s.gone, was && before.Incarnation == now.Incarnation && bytes.Equal(before.Value, now.Value):
		return
	case was:
		m.pending = append(m.pending, MemberChange{before, true, false})
	}
	m.present[now.Name] = now
	m.pending = append(m.pending, MemberChange{Member: now})
}

// Close ends the watch.
func (m *MemberWatch) Close() { m.w.Close() }
