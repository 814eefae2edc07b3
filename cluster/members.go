package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"
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
	present map[string]presence
	pending []MemberChange
}

// presence is a member, and when it must have been renewed.
type presence struct {
	Member
	due time.Time
}

// WatchMembers returns who is there, by name, and a watch of who comes and
// goes since.
func (c *Cluster) WatchMembers(ctx context.Context) ([]Member, *MemberWatch, error) {
	found, w, err := c.watch(ctx, membersKey)
	if err != nil {
		return nil, nil, err
	}
	m := &MemberWatch{w: w, present: map[string]presence{}}
	members := make([]Member, len(found))
	for i, s := range found {
		members[i] = member(s)
		m.present[members[i].Name] = presence{members[i], due(s)}
	}
	return members, m, nil
}

func member(s stored) Member {
	return Member{strings.TrimPrefix(s.Key, membersKey+"."), s.Value, s.incarnation}
}

func due(s stored) time.Time { return time.Now().Add(s.ttl) }

// Next waits for the next change, as [Watch.Next] does.
func (m *MemberWatch) Next(ctx context.Context) (MemberChange, error) {
	for len(m.pending) == 0 {
		if err := m.wait(ctx); err != nil {
			return MemberChange{}, fmt.Errorf("watching members: %w", err)
		}
	}
	change := m.pending[0]
	m.pending = m.pending[1:]
	return change, nil
}

// wait takes the next message, or looks after the member whose renewal is due
// longest: servers that let a record expire say nothing.
func (m *MemberWatch) wait(ctx context.Context) error {
	first, deadline := m.firstDue()
	until := ctx
	if first != "" {
		var cancel context.CancelFunc
		until, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	s, err := m.w.next(until)
	switch {
	case err == nil && s.Key != m.w.c.barrier:
		m.take(s)
	case err == nil:
	case ctx.Err() == nil && until.Err() != nil:
		m.lookAfter(ctx, first)
	default:
		return err
	}
	return nil
}

func (m *MemberWatch) firstDue() (name string, at time.Time) {
	for n, p := range m.present {
		if name == "" || p.due.Before(at) {
			name, at = n, p.due
		}
	}
	return name, at
}

// lookAfter reports a member whose record has expired.
func (m *MemberWatch) lookAfter(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	p := m.present[name]
	found, err := m.w.c.last(ctx, membersKey+"."+name)
	if err == nil && found.Revision == 0 {
		delete(m.present, name)
		m.pending = append(m.pending, MemberChange{p.Member, true, true})
		return
	}
	p.due = time.Now().Add(lookAgain) // the watch will tell, or the servers are late
	m.present[name] = p
}

// lookAgain is when the record of a silent member is read again.
const lookAgain = 250 * time.Millisecond

// take compares a message with who is known to be there; a renewal changes
// nothing.
func (m *MemberWatch) take(s stored) {
	now := member(s)
	before, was := m.present[now.Name]
	if s.gone {
		if was {
			delete(m.present, now.Name)
			m.pending = append(m.pending, MemberChange{before.Member, true, false})
		}
		return
	}
	m.present[now.Name] = presence{now, due(s)}
	if was && before.Incarnation == now.Incarnation {
		return
	}
	if was {
		m.pending = append(m.pending, MemberChange{before.Member, true, false})
	}
	m.pending = append(m.pending, MemberChange{Member: now})
}

// Close ends the watch.
func (m *MemberWatch) Close() { m.w.Close() }
