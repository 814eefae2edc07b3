package group

import (
	"encoding/json"
	"fmt"
	"time"

	"millrace.dev/fabric"
)

// planMessage says what a vector consists of.
type planMessage struct {
	Elements int
	Tensors  []Tensor
}

// differs tells a worker with another vector what this one's consists of.
func (lp *loop) differs(l *link, h *hello) {
	l.to = h.From.ID
	body, err := json.Marshal(planMessage{lp.config.Elements, lp.config.Tensors})
	if err == nil && len(body) > fabric.MaxControl {
		body, err = json.Marshal(planMessage{Elements: lp.config.Elements})
	}
	if err != nil {
		lp.fail(err)
		return
	}
	l.send(typePlan, lp.mesh.view.Epoch, body)
}

// compare takes the other's vector: between members, and for a joiner, a difference ends the worker;
// of somebody else's joiner it is that one's affair.
func (lp *loop) compare(l *link, body []byte) {
	var theirs planMessage
	if err := json.Unmarshal(body, &theirs); err != nil {
		l.conn.Close(fmt.Errorf("a plan that cannot be read: %w", err))
		return
	}
	from := l.peer.Load().From
	rank := lp.mesh.view.Rank(from.ID)
	if rank < 0 && l != lp.joining.link {
		return
	}
	lp.misfit(&PlanError{Member: from.Name, Rank: rank, What: difference(planMessage{lp.config.Elements, lp.config.Tensors}, theirs)})
}

// telling is how long a worker with a PlanError tells those who do not know yet.
const telling = time.Second

// misfit ends the worker, once it has had time to tell the other members.
func (lp *loop) misfit(e *PlanError) {
	if lp.wrong != nil {
		return
	}
	lp.wrong, lp.machine = e, nil
	lp.w.desk.put(func(d *desk) { d.err = e })
	for l := range lp.mesh.all {
		lp.tellMisfit(l)
	}
	time.AfterFunc(telling, func() { lp.w.inbox.post(func() { lp.fail(e) }) })
}

// tellMisfit tells a member what is wrong.
func (lp *loop) tellMisfit(l *link) {
	if !lp.mesh.view.Has(l.to) {
		return
	}
	body, err := json.Marshal(lp.wrong)
	if err != nil {
		lp.fail(err)
		return
	}
	l.send(typeMisfit, lp.mesh.view.Epoch, body)
}

// misfits hears from a member that another one does not fit.
func (lp *loop) misfits(l *link, body []byte) {
	var e PlanError
	if err := json.Unmarshal(body, &e); err != nil {
		l.conn.Close(fmt.Errorf("a PlanError that cannot be read: %w", err))
		return
	}
	if l.peer.Load().Plan != lp.w.plan {
		return // it is the one that does not fit, and sends its own plan
	}
	if lp.mesh.view.Has(l.to) && e.Member != lp.self.Name {
		lp.misfit(&e)
	}
}

// difference says in words how their vector is not ours.
func difference(ours, theirs planMessage) string {
	for i := range min(len(ours.Tensors), len(theirs.Tensors)) {
		a, b := ours.Tensors[i], theirs.Tensors[i]
		switch {
		case a.Name != b.Name:
			return fmt.Sprintf("tensor %d is %q there and %q here", i, b.Name, a.Name)
		case a != b:
			return fmt.Sprintf("tensor %q has the elements %d to %d there and %d to %d here", a.Name, b.Lo, b.Hi, a.Lo, a.Hi)
		}
	}
	if len(ours.Tensors) != len(theirs.Tensors) {
		return fmt.Sprintf("it has %d tensors there and %d here", len(theirs.Tensors), len(ours.Tensors))
	}
	return fmt.Sprintf("it has %d elements there and %d here", theirs.Elements, ours.Elements)
}
