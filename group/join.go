package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"millrace.dev/group/collective"
	"millrace.dev/group/protocol"
)

// joining is the way of a worker into a group: it dials one address after the other until a member
// takes its wish in; with the next step that is committed it is in the view.
type joining struct {
	addrs   []string // of members, the newest knowledge first
	at      int      // of the next attempt
	link    *link    // to the member that is asked
	pause   time.Time
	since   time.Time // nobody has answered
	last    string    // why the last attempt failed
	waiting bool      // a member has answered
	welcome bool      // and has taken the wish in: what a member must know before its first view is known
	active  bool
}

// refusal says why a worker is not let in.
type refusal struct {
	Reason string
	Again  bool // it may change soon
}

// welcome is what a worker must know before it is in its first view.
type welcome struct {
	Model collective.Model
	Local int // members, all of them on the same machine as the worker; 0: some are not
}

// remember keeps the addresses of members, for a worker that has to come back.
func (j *joining) remember(v View) {
	var addrs []string
	for _, m := range v.Members {
		addrs = append(addrs, m.Addr)
	}
	for _, a := range j.addrs {
		if len(addrs) < 64 {
			addrs = append(addrs, a)
		}
	}
	j.addrs, j.at = addrs, 0
}

// join begins to look for a member, once the trainer of an incarnation waits for a state.
func (lp *loop) join(incarnation int) {
	if incarnation != lp.incarnation || lp.machine != nil {
		return
	}
	machine, err := protocol.NewJoiner(lp.protocol())
	if err != nil {
		lp.fail(err)
		return
	}
	lp.machine = machine
	j := &lp.joining
	*j = joining{addrs: append(j.addrs, lp.config.Join...), since: time.Now(), active: true}
	j.next(lp)
}

// next asks at the next address.
func (j *joining) next(lp *loop) {
	addr := ""
	for range j.addrs {
		addr = j.addrs[j.at%len(j.addrs)]
		j.at++
		if addr != lp.self.Addr {
			break
		}
	}
	if addr == "" {
		lp.fail(fmt.Errorf("worker %q has an empty address to join at", lp.self.Name))
		return
	}
	body, err := json.Marshal(lp.self)
	if err != nil {
		lp.fail(err)
		return
	}
	j.waiting = false
	j.link = lp.mesh.dial(addr, 0)
	j.link.send(typeJoin, 0, body)
}

// tick tries again, and gives up where nobody answers.
func (j *joining) tick(lp *loop) {
	if !j.active {
		return
	}
	now := time.Now()
	if now.Sub(j.since) > gathering && !j.waiting {
		lp.fail(&RefusedError{Reason: "no member lets it in; the last attempt: " + j.last})
		return
	}
	switch {
	case j.link == nil && now.After(j.pause):
		j.next(lp)
	case j.link != nil && j.waiting:
		j.since = now
		lp.mesh.say(Member{ID: j.link.to}, &protocol.Beat{})
	}
}

// met hears that a member has answered the dial.
func (j *joining) met(l *link) {
	if l == j.link {
		j.waiting = true
	}
}

// lost hears that a connection has ended.
func (j *joining) lost(l *link, err error) {
	if l == j.link {
		j.link, j.waiting = nil, false
		j.last = fmt.Sprintf("%s: %v", l.conn.Remote(), err)
		j.pause = time.Now().Add(100 * time.Millisecond)
	}
}

// done: the worker is in a view.
func (j *joining) done() { j.active, j.link = false, nil }

// wish takes in a worker that wants to join.
func (lp *loop) wish(l *link, body []byte) {
	if l.peer.Load().Plan != lp.w.plan {
		return // it hears so
	}
	var who Member
	if err := json.Unmarshal(body, &who); err != nil {
		l.conn.Close(fmt.Errorf("a wish to join that cannot be read: %w", err))
		return
	}
	if who.ID != l.to {
		l.conn.Close(fmt.Errorf("%q wishes to join by a connection of another worker", who.Name))
		return
	}
	refuse := func(reason string, again bool) { lp.refuse(l, refusal{reason, again}) }
	view := lp.mesh.view
	switch {
	case lp.machine == nil || view.Epoch == 0:
		refuse(fmt.Sprintf("%s is in no group itself", lp.self.Name), true)
		return
	case lp.account.Step == lp.config.From.Step:
		refuse("the group has committed no step yet", true)
		return
	case lp.config.State == nil:
		refuse("this group has no state to give", false)
		return
	}
	if lp.refuseNamesake(l, who) {
		return
	}
	w := welcome{Model: lp.measuring.model}
	if hosts(View{Members: append(slices.Clone(view.Members), who)}) == 1 {
		w.Local = len(view.Members)
	}
	known, err := json.Marshal(w)
	if err != nil {
		lp.fail(err)
		return
	}
	l.send(typeWelcome, view.Epoch, known)
	lp.config.Logger.Info("a worker wants to join", "worker", lp.self.Name, "joiner", who.Name)
	lp.handle(protocol.Wish{Join: []Member{who}})
}

// refuse tells a worker why it is not let in.
func (lp *loop) refuse(l *link, r refusal) {
	body, err := json.Marshal(r)
	if err != nil {
		lp.fail(err)
		return
	}
	l.send(typeRefuse, lp.mesh.view.Epoch, body)
}

// refuseNamesake refuses a worker that wants in under the name of a member, and says whether it did.
func (lp *loop) refuseNamesake(l *link, who Member) bool {
	taken := slices.ContainsFunc(lp.mesh.view.Members, func(m Member) bool { return m.Name == who.Name && m.ID != who.ID })
	if taken {
		lp.refuse(l, refusal{fmt.Sprintf("there is a member called %s already", who.Name), true})
	}
	return taken
}

// welcomed hears that a member has taken the wish in.
func (lp *loop) welcomed(l *link, body []byte) {
	var w welcome
	if err := json.Unmarshal(body, &w); err != nil {
		l.conn.Close(fmt.Errorf("a welcome that cannot be read: %w", err))
		return
	}
	if l == lp.joining.link {
		lp.joining.welcome, lp.measuring.model = true, w.Model
		if lp.door != nil && w.Local > 0 && w.Local <= protocol.MaxMembers {
			lp.door.Prepare(lp.config.Elements, max(2, w.Local)) // there is room even if a member dies before long
		}
	}
}

// refused takes a member's refusal.
func (lp *loop) refused(l *link, body []byte) {
	var r refusal
	if err := json.Unmarshal(body, &r); err != nil {
		l.conn.Close(fmt.Errorf("a refusal that cannot be read: %w", err))
		return
	}
	j := &lp.joining
	if !j.active || l != j.link {
		return
	}
	if !r.Again {
		lp.fail(&RefusedError{Reason: r.Reason})
		return
	}
	j.waiting = false
	j.last = r.Reason
	j.link = nil
	j.pause = time.Now().Add(100 * time.Millisecond)
	l.conn.Close(nil)
}

// asked is the address of the member that is asked, empty for none.
func (j *joining) asked() string {
	if j.link == nil {
		return ""
	}
	return j.link.conn.Remote()
}
