package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const barrierTTL = time.Minute

// stored is the last message of a subject; with Revision 0 there is none.
type stored struct {
	Entry
	gone        bool // a removal
	write       string
	incarnation uint64        // of a member
	ttl         time.Duration // of a member
}

// entry is the record that the message stands for.
func (s stored) entry() Entry {
	if s.gone {
		return Entry{Key: s.Key}
	}
	return s.Entry
}

// Get returns a record, or an error that wraps ErrNotFound.
func (c *Cluster) Get(ctx context.Context, key string) (Entry, error) {
	if err := checkKey(key); err != nil {
		return Entry{}, err
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	found, err := c.last(ctx, key)
	switch {
	case err != nil:
		return Entry{}, c.failed(key, err, false)
	case found.gone || found.Revision == 0:
		return Entry{}, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	return found.Entry, nil
}

// last reads the newest message of a key, so that it is at least as new as any
// change that was complete when the call began.
func (c *Cluster) last(ctx context.Context, key string) (stored, error) {
	after, err := c.pass(ctx)
	for err == nil {
		var found stored
		if found, err = c.lastAt(ctx, key, after); err == nil {
			return found, nil
		}
		if pause(ctx, retryWait) {
			err = nil
		}
	}
	return stored{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// pass publishes a message that the majority of replicas confirms, and returns
// its sequence number: a replica that has it has every change before it. A
// single replica has them anyway.
func (c *Cluster) pass(ctx context.Context) (uint64, error) {
	if c.replicas == 1 {
		return 0, nil
	}
	return c.mark(ctx)
}

func (c *Cluster) mark(ctx context.Context) (uint64, error) {
	for {
		m := &nats.Msg{Subject: c.subjects + c.barrier, Header: nats.Header{}}
		expire(m, barrierTTL)
		seq, err := request(ctx, func(ctx context.Context) (*nats.Msg, error) { return c.conn.RequestMsgWithContext(ctx, m) })
		if err == nil {
			return seq, nil
		}
		if !pause(ctx, retryWait) {
			return 0, err
		}
	}
}

var errBehind = errors.New("replica is behind")

// lastAt asks any replica for the newest message of a key. Unless barrier is 0
// it asks for our newest barrier, too: both answers are of one instant, and the
// error is errBehind when the replica has not seen that barrier yet.
func (c *Cluster) lastAt(ctx context.Context, key string, barrier uint64) (stored, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if barrier == 0 {
		m, err := c.conn.RequestWithContext(ctx, c.directGet(), question("last_by_subj", c.subjects+key))
		if err != nil {
			return stored{}, err
		}
		if m.Header.Get("Status") == "404" {
			return stored{Entry: Entry{Key: key}}, nil
		}
		found, _, err := c.take(m)
		return found, err
	}
	inbox := c.conn.NewRespInbox()
	answers, err := c.conn.SubscribeSync(inbox)
	if err != nil {
		return stored{}, err
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only on a closed connection
	both := question("multi_last", []string{c.subjects + key, c.subjects + c.barrier})
	if err := c.conn.PublishRequest(c.directGet(), inbox, both); err != nil {
		return stored{}, err
	}
	found, seen := stored{Entry: Entry{Key: key}}, uint64(0)
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return stored{}, err
		}
		s, more, err := c.take(m)
		switch {
		case err != nil:
			return stored{}, err
		case !more && seen < barrier:
			return stored{}, errBehind
		case !more:
			return found, nil
		case s.Key == c.barrier:
			seen = s.Revision
		default:
			found = s
		}
	}
}

func (c *Cluster) directGet() string { return "$JS.API.DIRECT.GET." + c.stream }

// question is the body of a request for messages.
func question(kind string, subjects any) []byte {
	body, err := json.Marshal(map[string]any{kind: subjects})
	if err != nil {
		panic(err) // words have a JSON form
	}
	return body
}

// take reads one answer to a question; more says that it holds a message, and
// others may follow.
func (c *Cluster) take(m *nats.Msg) (s stored, more bool, err error) {
	switch status := m.Header.Get("Status"); status {
	case "":
	case "204":
		return s, false, nil
	default: // with 404 nothing is there, not even a barrier: the replica is behind
		return s, false, fmt.Errorf("reading: %s %s", status, strings.ToLower(m.Header.Get("Description")))
	}
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return s, false, errors.New("reading: answer without a sequence number")
	}
	return decode(strings.TrimPrefix(m.Header.Get("Nats-Subject"), c.subjects), seq, m.Header, m.Data), true, nil
}

// decode reads a stored message.
func decode(key string, seq uint64, h nats.Header, data []byte) stored {
	s := stored{Entry: Entry{Key: key, Value: data, Revision: seq}, write: h.Get(headerWrite), incarnation: seq}
	s.gone = h.Get(headerOperation) != ""
	if n, err := strconv.ParseUint(h.Get(headerIncarnation), 10, 64); err == nil {
		s.incarnation = n
	}
	if seconds, err := strconv.ParseUint(h.Get(headerTTL), 10, 32); err == nil {
		s.ttl = time.Duration(seconds) * time.Second
	} else if d, err := time.ParseDuration(h.Get(headerTTL)); err == nil {
		s.ttl = d
	}
	return s
}
