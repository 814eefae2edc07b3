package group

import (
	"context"
	"time"

	"millrace.dev/group/protocol"
)

// Settle waits until all other members have the last step that this worker has, or are lost: to be called after
// the last step, before Close. Who closes sooner may take the last word on that step along, and a member that still waits
// for it may find too few left to decide without. It ends early when ctx does, when the worker has ended, and after half a
// minute: members that stand still are not taken for lost where no majority is left to do so.
func (w *Worker) Settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	settled := make(chan struct{})
	w.post(func(lp *loop) { lp.settle(settled) })
	select {
	case <-settled:
		return nil
	case <-w.ended:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const settling = 30 * time.Second

// settle closes settled once the others have what this worker has, and tells them at once what that is.
func (lp *loop) settle(settled chan struct{}) {
	lp.settling = settled
	if lp.machine != nil {
		lp.mesh.beat()
	}
	lp.checkSettled()
}

// heardOfStep notes the last step that a member has; each of its frames says so.
func (lp *loop) heardOfStep(from ID, step uint64) {
	if m := &lp.mesh; m.view.Has(from) && step > m.steps[from] {
		m.steps[from] = step
		lp.checkSettled()
	}
}

func (lp *loop) checkSettled() {
	if lp.settling == nil {
		return
	}
	m := &lp.mesh
	for _, member := range m.view.Members {
		if lp.machine != nil && member.ID != lp.self.ID && !m.suspected[member.ID] && m.steps[member.ID] < lp.account.Step {
			return
		}
	}
	close(lp.settling)
	lp.settling = nil
}

// beat tells all members that this worker lives.
func (m *mesh) beat() {
	for _, member := range m.view.Members {
		if member.ID != m.lp.self.ID && len(m.links[member.ID]) > 0 {
			m.say(member, &protocol.Beat{Epoch: m.view.Epoch})
		}
	}
}
