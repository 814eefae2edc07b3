package group

import (
	"errors"
	"fmt"
	"time"

	"millrace.dev/group/lifeline"
	"millrace.dev/group/protocol"
)

// startingUp is how many times as long as later a founder may be silent before the first step.
const startingUp = 5

// suspect tells the machine that a worker is gone, and closes what is left of it.
func (lp *loop) suspect(id ID, reason string) {
	m := &lp.mesh
	if lp.machine == nil {
		return
	}
	if r := m.view.Rank(id); r >= 0 && !m.suspected[id] {
		name := m.view.Members[r].Name
		m.suspected[id], m.lost[id] = true, true
		lp.reason = fmt.Sprintf("%s was lost: %s", name, reason)
		lp.config.Logger.Warn("a member is lost", "worker", lp.self.Name, "member", name, "reason", reason)
	}
	for _, l := range m.links[id] {
		l.dropped = true
		l.conn.Close(errors.New(reason))
	}
	if in := lp.w.intake.Load(); in != nil {
		in.forsake(id)
	}
	lp.handle(protocol.Suspect{ID: id})
}

func (lp *loop) peerDown(name, reason string) {
	for _, m := range lp.mesh.view.Members {
		if m.Name == name && m.ID != lp.self.ID {
			lp.suspect(m.ID, reason)
			return
		}
	}
}

// beat says that this worker lives, and looks who else does.
func (lp *loop) beat() {
	m := &lp.mesh
	now := time.Now()
	gap := now.Sub(m.lastBeat)
	m.lastBeat = now
	m.sweep(now)
	lp.checkSettled()
	if lp.machine == nil {
		lp.joining.tick(lp)
		return
	}
	m.connect()
	m.beat()
	if gap > lp.config.Suspect/2 {
		m.excuse(now) // this process itself stood still
	}
	for _, member := range m.view.Members {
		lp.checkSilence(member, now)
	}
	lp.joining.tick(lp)
	if lp.broken != nil && now.Sub(lp.brokenSince) > 2*lp.config.Suspect {
		lp.fail(lp.broken)
	}
}

// excuse takes everybody for just heard, and what is broken for just broken.
func (m *mesh) excuse(now time.Time) {
	m.lp.brokenSince = now
	for l := range m.all {
		l.hear(now)
	}
	for id := range m.joined {
		m.joined[id] = now
	}
}

// checkSilence suspects a member that has sent nothing for too long.
func (lp *loop) checkSilence(member Member, now time.Time) {
	m := &lp.mesh
	if member.ID == lp.self.ID || m.suspected[member.ID] {
		return
	}
	limit := m.patience()
	for _, l := range m.links[member.ID] {
		if l.peer.Load() == nil {
			continue
		}
		limit = lp.config.Suspect
		if m.view.Epoch == 1 && lp.account.Step == lp.config.From.Step {
			limit *= startingUp
		}
		if moved := l.conn.Stats().BytesReceived; moved != l.moved {
			l.moved = moved
			l.hear(now)
		}
	}
	if silent := now.Sub(m.heard(member.ID)); silent > limit {
		lp.suspect(member.ID, fmt.Sprintf("nothing was heard of it for %v", silent.Round(time.Millisecond)))
	}
}

// heard is when a member was heard last.
func (m *mesh) heard(id ID) time.Time {
	last := m.joined[id]
	for _, l := range m.links[id] {
		if at := l.lastHeard(); at.After(last) {
			last = at
		}
	}
	return last
}

// live opens the line of an incarnation.
func (m *mesh) live() {
	line, err := lifeline.Open(uint64(m.lp.self.ID))
	if err != nil {
		m.lp.config.Logger.Info("the death of this worker is seen when its connections close", "err", err)
		return
	}
	m.line = line
}

// watch looks after the line of a worker on this machine.
func (m *mesh) watch(who Member) {
	if _, already := m.watched[who.ID]; already || who.Host != m.lp.self.Host || m.line == nil {
		return
	}
	m.watched[who.ID] = nil
	lp, incarnation := m.lp, m.lp.incarnation
	lp.w.running.Go(func() {
		w, err := lifeline.Watch(uint64(who.ID), func() {
			lp.w.inbox.post(func() {
				if lp.incarnation == incarnation {
					lp.suspect(who.ID, "its process has ended")
				}
			})
		})
		if err != nil {
			return // the end of its connections has to do
		}
		taken := lp.w.hand(func(lp *loop) {
			if _, still := m.watched[who.ID]; still && lp.incarnation == incarnation {
				m.watched[who.ID] = w
			} else {
				w.Close() //nolint:errcheck // nothing is lost with it
			}
		})
		if !taken {
			w.Close() //nolint:errcheck
		}
	})
}

// unwatch ends the watch over some workers.
func (m *mesh) unwatch(whom func(ID) bool) {
	for id, w := range m.watched {
		if whom(id) {
			delete(m.watched, id)
			if w != nil {
				w.Close() //nolint:errcheck // nothing is lost with it
			}
		}
	}
}
