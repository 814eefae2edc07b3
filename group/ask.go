package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"millrace.dev/fabric"
)

// Question is what somebody who is no worker may ask a member.
type Question struct {
	About  bool   `json:"about,omitempty"`  // Config.About, to know what to build before joining
	Status bool   `json:"status,omitempty"` // a Status as JSON
	Drain  string `json:"drain,omitempty"`  // make the worker of this name leave; the answer is empty
}

// answer is what comes back.
type answer struct {
	Body []byte
	Err  string
}

// Ask asks the first member of addrs that can be reached. The error names what each of the others
// said.
func Ask(ctx context.Context, network fabric.Network, addrs []string, q Question) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	who, err := json.Marshal(hello{Visitor: true})
	if err != nil {
		return nil, err
	}
	failures := errors.New("no member could be asked")
	for _, addr := range addrs {
		v := &visitor{answers: make(chan answer, 1), closed: make(chan error, 1)}
		c := network.Dial(addr, v)
		c.Send(fabric.Control, fabric.Header{Type: typeHello}, who, nil)
		c.Send(fabric.Control, fabric.Header{Type: typeAsk}, body, nil)
		a, err := v.wait(ctx)
		c.Close(nil)
		switch {
		case err == nil && a.Err == "":
			return a.Body, nil
		case err == nil:
			return nil, fmt.Errorf("%s: %s", addr, a.Err)
		case ctx.Err() != nil:
			return nil, errors.Join(failures, fmt.Errorf("%s: %w", addr, ctx.Err()))
		}
		failures = errors.Join(failures, fmt.Errorf("%s: %w", addr, err))
	}
	return nil, failures
}

// visitor handles the connection of Ask.
type visitor struct {
	answers chan answer
	closed  chan error
}

func (v *visitor) wait(ctx context.Context) (answer, error) {
	select {
	case a := <-v.answers:
		return a, nil
	case err := <-v.closed:
		return answer{}, err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// Body implements fabric.Handler.
func (v *visitor) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

// Frame implements fabric.Handler.
func (v *visitor) Frame(_ fabric.Conn, h fabric.Header, body []byte) error {
	if h.Type != typeAnswer {
		return nil
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("an answer that cannot be read: %w", err)
	}
	select {
	case v.answers <- a:
	default:
	}
	return nil
}

// Closed implements fabric.Handler.
func (v *visitor) Closed(_ fabric.Conn, err error) { v.closed <- err }

// asked answers a visitor.
func (lp *loop) asked(l *link, body []byte) {
	var q Question
	var a answer
	err := json.Unmarshal(body, &q)
	switch {
	case err != nil:
	case q.About:
		a.Body = lp.config.About
	case q.Status:
		a.Body, err = json.Marshal(lp.situation().status())
	case q.Drain != "":
		err = lp.drain(q.Drain)
	default:
		err = errors.New("an empty question")
	}
	if err != nil {
		a.Err = err.Error()
	}
	text, err := json.Marshal(a)
	if err != nil {
		lp.fail(err)
		return
	}
	l.send(typeAnswer, 0, text)
}
