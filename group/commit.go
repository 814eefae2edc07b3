package group

import (
	"fmt"
	"slices"

	"millrace.dev/group/ledger"
	"millrace.dev/group/protocol"
	"millrace.dev/group/reduce"
	"millrace.dev/group/steplog"
)

// report takes what the trainer says of the step under way.
func (lp *loop) report(incarnation int, step, weight uint64, r Report) {
	if incarnation != lp.incarnation || step != lp.account.Step+1 {
		return
	}
	lp.current.reported, lp.current.report, lp.current.weight = true, r, weight
	lp.tryPrepare()
}

// tryPrepare tells the machine that the step is prepared here, once it is.
func (lp *loop) tryPrepare() {
	c := &lp.current
	epoch := lp.mesh.view.Epoch
	p := lp.w.plane.Load()
	if lp.machine == nil || c.reduced == nil || c.reduced != p || p.canceled || !c.reported || c.prepared == epoch {
		return
	}
	if lp.measuring.plane != nil || !lp.restored && !lp.mayFollow() {
		return
	}
	c.prepared = epoch
	r := &c.report
	lp.handle(protocol.Prepared{
		Epoch: epoch, Step: lp.account.Step + 1,
		Facts: protocol.Facts{Weight: c.facts.Weight, Finite: c.facts.Finite},
		Record: protocol.Record{
			Samples: c.weight, Loss: r.Loss, Norm2: r.Norm2, Correct: r.Correct, InTop: r.InTop,
			Rate: r.Rate, Hash: r.Hash, Finite: !r.NonFinite, Ready: lp.restored,
		},
	})
}

// committed takes the group's word on the step under way.
func (lp *loop) committed(a protocol.Commit) {
	res := a.Result
	view := lp.mesh.view
	before := lp.account
	shares := lp.assign()
	size := lp.config.Data.Samples
	contributes := func(id uint64) bool { return view.Has(ID(id)) }
	lp.account.Step = res.Step
	lp.account.sharers = lp.account.sharers[:0:0]
	lp.leavers = map[ID]bool{}
	for _, e := range res.Records {
		if e.Record.Leave {
			lp.leavers[e.ID] = true
		}
	}
	for _, id := range res.Ready() {
		lp.account.sharers = append(lp.account.sharers, uint64(id))
	}
	v := &verdict{rateScale: 1}
	if size > 0 && lp.accounted() {
		v.rateScale = lp.config.Data.rateScale(len(before.sharers))
		lp.account.Ledger = before.Ledger.Commit(size, shares, contributes)
		expected := uint64(0)
		for _, s := range shares {
			if contributes(s.Member) {
				expected += s.Len()
			}
		}
		if expected != res.Facts.Weight {
			lp.fail(fmt.Errorf("step %d was reduced from %d samples where the ledger has %d", res.Step, res.Facts.Weight, expected))
			return
		}
	}
	v.result = lp.result(a, before)
	v.record = lp.line(res, v.result.Outcome, v.result.Algorithm, before, shares)
	v.err = lp.diverged(res)
	lp.current = current{}
	if res.Epoch == 1 {
		lp.measuring.model = lp.measuring.found
	}
	lp.w.desk.put(func(d *desk) { d.verdict = v })
	lp.turn()
}

var outcomes = map[protocol.Outcome]Outcome{protocol.Apply: Apply, protocol.Skip: Skip}

// result tells the trainer of a committed step.
func (lp *loop) result(a protocol.Commit, before account) Result {
	res, view := a.Result, lp.mesh.view
	r := Result{
		Step: res.Step, Outcome: outcomes[a.Outcome()], Mean: lp.w.Mean(), Weight: res.Facts.Weight, View: view,
		Reason: lp.entered, Next: lp.account.Progress, EpochEnded: lp.account.Ledger.Epoch != before.Ledger.Epoch,
	}
	if p := lp.current.reduced; p != nil {
		r.Algorithm, r.Choice, r.Expected = p.reducer.Algorithm().String(), p.reason, p.expected
	}
	for _, e := range res.Records {
		told := Told{Member: e.ID, Samples: e.Record.Samples, Report: Report{
			Loss: e.Record.Loss, Norm2: e.Record.Norm2, Correct: e.Record.Correct, InTop: e.Record.InTop,
			NonFinite: !e.Record.Finite, Hash: e.Record.Hash, Rate: e.Record.Rate,
		}}
		if rank := view.Rank(e.ID); rank >= 0 {
			told.Name = view.Members[rank].Name
		}
		r.Reports = append(r.Reports, told)
	}
	return r
}

// line is a committed step in the log.
func (lp *loop) line(res *protocol.Result, outcome Outcome, algorithm string, before account, shares []ledger.Share) steplog.Record {
	l := steplog.Record{
		Step: res.Step, View: res.Epoch, DataEpoch: before.Ledger.Epoch, Weight: res.Facts.Weight, Outcome: outcome.String(),
		Elements: lp.config.Elements, Chunk: reduce.Chunk, Algorithm: algorithm,
	}
	for _, m := range lp.mesh.view.Members {
		part := steplog.Part{Member: uint64(m.ID), Name: m.Name}
		if i := slices.IndexFunc(res.Records, func(e protocol.Entry) bool { return e.ID == m.ID }); i >= 0 {
			r := &res.Records[i].Record
			part.Samples = r.Samples
			l.Rate = max(l.Rate, r.Rate)
			if l.Hash == 0 {
				l.Hash = r.Hash
			}
		}
		if i := slices.IndexFunc(shares, func(s ledger.Share) bool { return s.Member == uint64(m.ID) }); i >= 0 {
			part.Samples = shares[i].Len()
			for _, earlier := range shares[:i] {
				part.Offset += earlier.Len()
			}
			for _, r := range shares[i].Ranges {
				part.Ranges = append(part.Ranges, steplog.Range{r.Lo, r.Hi})
			}
		}
		l.Parts = append(l.Parts, part)
	}
	return l
}

// diverged is an error if members that should be equal are not.
func (lp *loop) diverged(res *protocol.Result) error {
	if len(res.Diverged()) == 0 {
		return nil
	}
	e := &DivergedError{Step: res.Step, Hashes: map[string]uint64{}}
	for _, entry := range res.Records {
		if rank := lp.mesh.view.Rank(entry.ID); rank >= 0 && entry.Record.Hash != 0 {
			e.Hashes[lp.mesh.view.Members[rank].Name] = entry.Record.Hash
		}
	}
	return e
}

// assign is the shares of the step under way.
func (lp *loop) assign() []ledger.Share {
	if lp.config.Data.Samples == 0 || !lp.accounted() {
		return nil
	}
	return lp.account.Ledger.Assign(lp.config.Data.Samples, lp.config.Data.batch(len(lp.account.sharers)), lp.account.sharers)
}

// turn offers the next step to the trainer.
func (lp *loop) turn() {
	s := lp.nextStep()
	lp.w.desk.put(func(d *desk) { d.turn = s })
}

// nextStep is the step under way as this worker sees it.
func (lp *loop) nextStep() *Step {
	n := len(lp.account.sharers)
	s := Step{
		Number: lp.account.Step + 1, Epoch: lp.account.Ledger.Epoch, View: lp.mesh.view,
		RateScale: 1, Leader: n > 0 && lp.account.sharers[0] == uint64(lp.self.ID),
	}
	if lp.config.Data.Samples > 0 {
		s.RateScale = lp.config.Data.rateScale(n)
		for _, share := range lp.assign() {
			if share.Member == uint64(lp.self.ID) {
				s.Shares, s.Weight, s.Offset = share.Ranges, share.Len(), s.Batch
			}
			s.Batch += share.Len()
		}
	}
	return &s
}
