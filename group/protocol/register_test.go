package protocol

import (
	"errors"

	"millrace.dev/fabric"
)

// ask asks the authority; no answer in time is one that leaves open what happened.
func (w *worker) ask(a Ask) {
	w.asked++
	n := w.asked
	w.job.log(w.name(), "asks for %s", names(nil).change(a.Change))
	if w.service == nil {
		w.service = w.host.Dial("sim:authority", &answers{w})
	}
	w.service.Send(fabric.Control, fabric.Header{Type: frameAsk, Epoch: a.Epoch, Step: uint64(n), Aux: uint64(w.self.ID)},
		AppendChange(nil, a.Change), nil)
	w.host.AfterFunc(askTimeout, func() {
		if w.asked == n {
			w.handle(Answer{Epoch: a.Epoch, Err: errors.New("no answer in time")})
		}
	})
}

type answers struct{ w *worker }

func (a *answers) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

func (a *answers) Frame(_ fabric.Conn, h fabric.Header, body []byte) error {
	c, err := DecodeChange(body)
	if err == nil && !a.w.ended {
		if a.w.asked > int(h.Step) {
			a.w.job.check.stats.Late++
		}
		a.w.asked++
		a.w.handle(Answer{Epoch: h.Epoch, Change: c})
	}
	return err
}

func (a *answers) Closed(c fabric.Conn, err error) {
	if a.w.service == c {
		a.w.service = nil
	}
	if !a.w.ended && a.w.job.authority == Service {
		a.w.handle(Answer{Epoch: a.w.m.View().Epoch, Err: err})
	}
}

// register is the authority of a job: the last change, changed by compare-and-swap. It outlives the
// process that serves it.
type register struct {
	job   *job
	epoch uint64
	last  []byte
	up    bool
}

// serve starts a process for the register.
func (r *register) serve() {
	r.up = true
	host := r.job.world.Host("authority")
	if _, err := host.Listen("sim:authority", func(fabric.Conn) (fabric.Handler, error) { return r, nil }); err != nil {
		panic(err)
	}
}

func (r *register) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

func (r *register) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	if h.Epoch == r.epoch || r.job.sabotage == "forget" {
		r.epoch, r.last = h.Epoch+1, body
		r.job.log("auth", "takes what %d asks for epoch %d", h.Aux, r.epoch)
	}
	c.Send(fabric.Control, fabric.Header{Type: frameAnswer, Epoch: h.Epoch, Step: h.Step}, r.last, nil)
	return nil
}

func (r *register) Closed(fabric.Conn, error) {}
