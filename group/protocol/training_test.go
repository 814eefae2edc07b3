package protocol

import (
	"encoding/binary"
	"slices"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/ledger"
)

const chunks = 3

type model [chunks]int64

// reduction is a step under way at one worker.
type reduction struct {
	number   uint64
	computed bool
	gradient model // kept until the step is committed
	weight   uint64
	finite   bool
	hash     uint64
	// What follows is of one epoch.
	given [chunks]map[ID]give // for chunks that this worker owns
	mean  [chunks]*mean
}

// give is a chunk of one member's gradient.
type give struct {
	value  int64
	weight uint64
	finite bool
}

// mean is a reduced chunk.
type mean struct {
	sum    int64
	weight uint64
	finite bool
	from   []ID // contributors
}

// applied is a step as it is to be applied.
type applied struct {
	result *Result
	mean   [chunks]*mean
}

// earlyFrame is a frame that came before its epoch or step had begun here.
type earlyFrame struct {
	from ID
	h    fabric.Header
	body []byte
}

// committed applies a step.
func (w *worker) committed(c Commit) {
	a := applied{result: c.Result, mean: w.step.mean}
	w.job.log(w.name(), "commits step %d of epoch %d: weight %d, finite %t, %d records", c.Step, c.Epoch, c.Facts.Weight, c.Facts.Finite, len(c.Records))
	if c.Step != w.step.number {
		w.job.check.fail("%s commits step %d in step %d", w.name(), c.Step, w.step.number)
		return
	}
	for k, m := range a.mean {
		if m == nil {
			w.job.check.fail("%s commits step %d without chunk %d", w.name(), c.Step, k)
			return
		}
	}
	w.job.check.result(w, c)
	if !w.has {
		w.backlog = append(w.backlog, a)
		return
	}
	w.apply(a)
}

// apply updates the model with a step.
func (w *worker) apply(a applied) {
	shares := w.ledger.Assign(w.job.samples, w.job.batch, w.assign)
	from := a.mean[0].from
	before := w.ledger
	w.ledger = w.ledger.Commit(w.job.samples, shares, func(id uint64) bool { return slices.Contains(from, ID(id)) })
	if (Commit{a.result}).Outcome() == Apply {
		for k := range w.theta {
			w.theta[k] = update(w.theta[k], a.mean[k].sum, a.result.Facts.Weight)
		}
	}
	w.assign = w.assign[:0:0]
	for _, id := range a.result.Ready() {
		w.assign = append(w.assign, uint64(id))
	}
	w.job.check.applied(w, a, before, shares)
}

func update(theta, sum int64, weight uint64) int64 { return theta*31 + sum/int64(weight) + 1 }

// sampleGradient is what one sample adds to a chunk of the gradient.
func sampleGradient(epoch, position uint64, chunk int, theta int64) (value int64, finite bool) {
	h := (epoch*1_000_003+position+1)*0x9e3779b97f4a7c15 + uint64(theta)*0xbf58476d1ce4e5b9 + uint64(chunk)
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return int64(h>>44) - 1<<19, h%997 != 0
}

func hashOf(theta model) uint64 {
	h := uint64(14695981039346656037)
	for _, t := range theta {
		h = (h ^ uint64(t)) * 1099511628211
	}
	return h | 1
}

// begin starts the computation of the next step.
func (w *worker) begin() {
	if w.ended {
		return
	}
	w.step = reduction{number: w.m.Committed() + 1, finite: true}
	w.compute()
	w.takeEarly()
}

// compute takes its time, then the gradient is kept and given away.
func (w *worker) compute() {
	number := w.step.number
	took := w.job.between(5*time.Millisecond, 40*time.Millisecond) * time.Duration(w.slow)
	w.host.AfterFunc(took, func() {
		if w.ended || w.step.number != number || w.step.computed {
			return
		}
		w.step.computed = true
		if w.has {
			w.step.hash = hashOf(w.theta)
			for _, s := range w.ledger.Assign(w.job.samples, w.job.batch, w.assign) {
				if ID(s.Member) == w.self.ID {
					w.step.weight = s.Len()
					w.step.gradient, w.step.finite = gradient(w.ledger.Epoch, s.Ranges, w.theta)
				}
			}
		}
		w.give()
	})
}

func gradient(epoch uint64, ranges []ledger.Range, theta model) (g model, finite bool) {
	finite = true
	for _, r := range ranges {
		for p := r.Lo; p < r.Hi; p++ {
			for k := range g {
				v, ok := sampleGradient(epoch, p, k, theta[k])
				g[k] += v
				finite = finite && ok
			}
		}
	}
	return g, finite
}

// give sends each chunk of the gradient to its owner.
func (w *worker) give() {
	if !w.live || !w.step.computed {
		return
	}
	view := w.m.View()
	for k := range chunks {
		owner := view.Members[k%len(view.Members)]
		b := binary.LittleEndian.AppendUint64(nil, uint64(w.step.gradient[k]))
		b = binary.LittleEndian.AppendUint64(b, w.step.weight)
		b = append(b, bit(w.step.finite))
		w.dataTo(owner, fabric.Header{Type: frameGive, Epoch: view.Epoch, Step: w.step.number, Chunk: uint32(k)}, b)
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (w *worker) dataTo(to Member, h fabric.Header, b []byte) {
	if to.ID == w.self.ID {
		w.data(w.self.ID, h, b)
		return
	}
	w.send(to, h, b)
}

// data takes a chunk, or keeps it for later, or drops what is too late.
func (w *worker) data(from ID, h fabric.Header, body []byte) {
	view := w.m.View()
	if h.Epoch > view.Epoch || h.Epoch == view.Epoch && h.Step > w.step.number {
		w.early = append(w.early, earlyFrame{from, h, body})
		return
	}
	stale := h.Epoch < view.Epoch && w.job.sabotage != "stale"
	if stale || h.Step < w.step.number || !w.live || w.ended {
		return
	}
	k := h.Chunk
	if h.Type == frameMean {
		m := &mean{sum: int64(binary.LittleEndian.Uint64(body)), weight: binary.LittleEndian.Uint64(body[8:]), finite: body[16] == 1}
		for b := body[17:]; len(b) > 0; b = b[8:] {
			m.from = append(m.from, ID(binary.LittleEndian.Uint64(b)))
		}
		w.step.mean[k] = m
		w.reduced()
		return
	}
	if w.step.given[k] == nil {
		w.step.given[k] = map[ID]give{}
	}
	w.step.given[k][from] = give{int64(binary.LittleEndian.Uint64(body)), binary.LittleEndian.Uint64(body[8:]), body[16] == 1}
	sum := mean{finite: true}
	for _, m := range view.Members {
		g, there := w.step.given[k][m.ID]
		if !there {
			return
		}
		if g.weight > 0 {
			sum.sum, sum.weight = sum.sum+g.value, sum.weight+g.weight
			sum.from = append(sum.from, m.ID)
		}
		sum.finite = sum.finite && g.finite
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(sum.sum))
	b = binary.LittleEndian.AppendUint64(b, sum.weight)
	b = append(b, bit(sum.finite))
	for _, id := range sum.from {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	for _, m := range view.Members {
		w.dataTo(m, fabric.Header{Type: frameMean, Epoch: view.Epoch, Step: w.step.number, Chunk: k}, b)
	}
}

// reduced tells the machine once all chunks are there.
func (w *worker) reduced() {
	finite := true
	for _, m := range w.step.mean {
		if m == nil {
			return
		}
		finite = finite && m.finite
	}
	first := w.step.mean[0]
	for k, m := range w.step.mean {
		if m.weight != first.weight || !slices.Equal(m.from, first.from) {
			w.job.check.fail("%s: step %d has chunk 0 of %v (weight %d) and chunk %d of %v (weight %d)",
				w.name(), w.step.number, first.from, first.weight, k, m.from, m.weight)
			return
		}
	}
	w.handle(Prepared{Epoch: w.m.View().Epoch, Step: w.step.number, Facts: Facts{first.weight, finite},
		Record: Record{Samples: w.step.weight, Loss: float64(w.self.ID), Finite: w.step.finite, Hash: w.step.hash, Ready: w.has && !w.leaving}})
}

// installed takes a view. Everything that was reduced over the one before is void.
func (w *worker) installed(a Install) {
	w.job.log(w.name(), "installs epoch %d: %s after step %d", a.View.Epoch, names(nil).members(a.View.Members), a.Change.Committed)
	if w.step.number > a.Change.Committed && w.step.computed {
		w.job.check.stats.Retries++
	}
	w.job.check.view(w, a.View)
	w.hear()
	w.live = true
	if w.job.sabotage != "stale" {
		w.step.given, w.step.mean = [chunks]map[ID]give{}, [chunks]*mean{}
	}
	if a.First {
		w.step = reduction{number: a.Change.Committed + 1, finite: true, computed: true}
	}
}

func (w *worker) resume() {
	if w.ended || !w.live {
		return
	}
	if !w.has {
		w.fetch()
	}
	w.give()
	w.takeEarly()
}

func (w *worker) takeEarly() {
	early := w.early
	w.early = nil
	for _, e := range early {
		if !w.ended {
			w.data(e.from, e.h, e.body)
		}
	}
}

// fetch asks a member for the state.
func (w *worker) fetch() {
	members := w.m.View().Members
	if o := members[w.job.random.IntN(len(members))]; o.ID != w.self.ID {
		w.send(o, fabric.Header{Type: frameFetch}, nil)
	}
}

// serve gives a joiner the state.
func (w *worker) serve(to ID) {
	if !w.has || !w.m.View().Has(to) {
		return
	}
	b := []byte{byte(len(w.assign))}
	for _, id := range w.assign {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	for _, t := range w.theta {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	w.send(w.m.View().Members[w.m.View().Rank(to)], fabric.Header{Type: frameState, Step: w.m.Committed()}, w.ledger.Append(b))
}

// restore takes the state, and applies to it what was committed meanwhile.
func (w *worker) restore(h fabric.Header, body []byte) {
	if w.has || w.m.View().Epoch == 0 {
		return
	}
	if h.Step > w.m.Committed() { // its own commit is under way
		return
	}
	n := int(body[0])
	body = body[1:]
	w.assign = nil
	for range n {
		w.assign = append(w.assign, binary.LittleEndian.Uint64(body))
		body = body[8:]
	}
	for k := range w.theta {
		w.theta[k] = int64(binary.LittleEndian.Uint64(body))
		body = body[8:]
	}
	var err error
	if w.ledger, err = ledger.Decode(body); err != nil {
		w.job.check.fail("%s restores: %v", w.name(), err)
		return
	}
	w.has = true
	w.handle(Restored{})
	w.job.log(w.name(), "restores the state after step %d", h.Step)
	for _, a := range w.backlog {
		if a.result.Step > h.Step {
			w.apply(a)
		}
	}
	w.backlog = nil
}
