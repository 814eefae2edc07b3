package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Entry is a record as it was at one instant.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64 // grows with every change of any record
}

// Headers of a stored message. The first four are those of NATS.
const (
	headerExpected    = "Nats-Expected-Last-Subject-Sequence"
	headerTTL         = "Nats-TTL"
	headerOperation   = "KV-Operation"
	headerRollup      = "Nats-Rollup"
	headerWrite       = "Millrace-Write"       // who wrote it: recognises a write whose answer was lost
	headerIncarnation = "Millrace-Incarnation" // of a renewed member
)

const (
	attemptTimeout = 2 * time.Second // after which a request is repeated
	retryWait      = 20 * time.Millisecond
)

// Codes of JetStream's answers.
const (
	codeNoPeers           = 10005 // there are too few servers for the copies
	codeWrongLast         = 10071 // wrong last sequence: the record was changed
	codeWrongLastConstant = 10164 // the same while another change is under way
)

// write is one change of a record.
type write struct {
	key         string
	expected    uint64 // revision; 0: no record
	value       []byte
	remove      bool
	ttl         time.Duration // 0: for ever
	incarnation uint64
}

// Create makes a record and returns its revision, or a *ConflictError if the
// key exists.
func (c *Cluster) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return c.change(ctx, write{key: key, value: value})
}

// Swap replaces the value of a record that is at the given revision, and
// returns its new revision. Otherwise it returns a *ConflictError with the
// record as it is. A revision of 0 makes the record.
func (c *Cluster) Swap(ctx context.Context, key string, revision uint64, value []byte) (uint64, error) {
	return c.change(ctx, write{key: key, expected: revision, value: value})
}

// Delete removes a record that is at the given revision. Otherwise it returns
// a *ConflictError.
func (c *Cluster) Delete(ctx context.Context, key string, revision uint64) error {
	if revision == 0 {
		return &ConflictError{Key: key}
	}
	_, err := c.change(ctx, write{key: key, expected: revision, remove: true, ttl: removalTTL})
	return err
}

func (c *Cluster) change(ctx context.Context, w write) (uint64, error) {
	if err := checkKey(w.key); err != nil {
		return 0, err
	}
	if len(w.value) > maxValue {
		return 0, fmt.Errorf("%s: value of %d bytes: at most %d are kept", w.key, len(w.value), maxValue)
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	return c.compareAndSwap(ctx, w)
}

// compareAndSwap repeats one change until its outcome is known or the context
// ends. Repeating is safe: each try expects the same revision, which the first
// to succeed replaces.
//
// A server that stood still and believes for a moment longer that it orders the
// changes answers as well, from what it knew then. So an acceptance counts more
// than a refusal, and after a refusal the record is read: the server that answers
// the barrier of that read has answered the change before, if it made it.
func (c *Cluster) compareAndSwap(ctx context.Context, w write) (uint64, error) {
	answers, err := c.conn.SubscribeSync(c.conn.NewInbox())
	if err != nil {
		return 0, c.failed(w.key, err, false)
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only on a closed connection
	name := answers.Subject
	expected := w.expected
	var unknown error // why an earlier try may still take effect
	for {
		revision, err := c.publish(ctx, w, expected, answers)
		var refusal *refusedError
		switch {
		case err == nil:
			return revision, nil
		case errors.Is(err, errConflict):
			found, err := c.last(ctx, w.key)
			if revision, ok := accepted(answers); ok {
				return revision, nil
			}
			if err != nil {
				return 0, c.failed(w.key, errors.Join(err, unknown), true)
			}
			switch {
			case found.write == name:
				return found.Revision, nil
			case found.Revision == expected:
				// Refused because of another change that then was not made.
			case unknown != nil:
				// Ours may have been made and then replaced.
				return 0, &UnknownError{w.key, unknown}
			case w.expected == 0 && found.entry().Revision == 0:
				expected = found.Revision // that of the removal: there is no record
			default:
				return 0, &ConflictError{w.key, w.expected, found.entry()}
			}
		case errors.As(err, &refusal):
			return 0, c.failed(w.key, err, unknown != nil || refusal.code >= 500)
		case !errors.Is(err, errNotSent):
			unknown = err
		}
		if !pause(ctx, retryWait) {
			return 0, c.failed(w.key, cmp.Or(unknown, err), unknown != nil)
		}
	}
}

// accepted returns the revision of the first acceptance among the answers that
// have come.
func accepted(answers *nats.Subscription) (revision uint64, ok bool) {
	for {
		if n, _, err := answers.Pending(); err != nil || n == 0 {
			return 0, false
		}
		answer, err := answers.NextMsg(attemptTimeout)
		if err != nil {
			continue // nobody was there
		}
		if revision, err := parseAck(answer.Data); err == nil {
			return revision, true
		}
	}
}

// failed wraps the end of a call that changed nothing, or perhaps something.
func (c *Cluster) failed(key string, err error, unknown bool) error {
	switch {
	case unknown:
		return &UnknownError{key, err}
	case c.closing.Err() != nil:
		return fmt.Errorf("%s: %w", key, ErrClosed)
	}
	var refusal *refusedError
	if errors.As(err, &refusal) || errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%s: %w", key, err)
	}
	return fmt.Errorf("%s: %w: %w", key, ErrUnavailable, err)
}

var (
	errConflict = errors.New("wrong revision")
	errNotSent  = errors.New("no server to send to")
)

// refusedError is an answer that says that the store did not take a message.
type refusedError struct {
	code int
	text string
}

func (e *refusedError) Error() string { return "the store refused: " + e.text }

// publish sends one change and waits for an answer. The error is errConflict
// or errNotSent when nothing was changed, a *refusedError, or else the outcome
// is unknown.
func (c *Cluster) publish(ctx context.Context, w write, expected uint64, answers *nats.Subscription) (uint64, error) {
	m := &nats.Msg{Subject: c.subjects + w.key, Reply: answers.Subject, Data: w.value, Header: nats.Header{
		headerExpected: {strconv.FormatUint(expected, 10)},
		headerWrite:    {answers.Subject},
	}}
	if w.remove {
		m.Header[headerOperation] = []string{"PURGE"}
	}
	if w.ttl > 0 {
		expire(m, w.ttl)
	}
	if w.incarnation > 0 {
		m.Header[headerIncarnation] = []string{strconv.FormatUint(w.incarnation, 10)}
	}
	return request(ctx, func(ctx context.Context) (*nats.Msg, error) {
		if err := c.conn.PublishMsg(m); err != nil {
			return nil, err
		}
		return answers.NextMsgWithContext(ctx)
	})
}

// expire gives a message a time to live. Older messages of its subject, which
// would come to light again, go now.
func expire(m *nats.Msg, ttl time.Duration) {
	m.Header[headerTTL] = []string{ttl.String()}
	m.Header[headerRollup] = []string{"sub"}
}

// request makes one try of a change.
func request(ctx context.Context, try func(context.Context) (*nats.Msg, error)) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return 0, errNotSent
	}
	answer, err := try(ctx)
	switch {
	case err == nil:
		return parseAck(answer.Data)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded),
		errors.Is(err, nats.ErrConnectionClosed):
		return 0, fmt.Errorf("%w: %w", errNotSent, err)
	}
	return 0, err
}

// parseAck reads JetStream's answer to a published message.
func parseAck(text []byte) (uint64, error) {
	var ack struct {
		Seq   uint64 `json:"seq"`
		Error *struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &ack); err != nil {
		return 0, fmt.Errorf("unreadable answer: %w", err)
	}
	switch e := ack.Error; {
	case e != nil && (e.ErrCode == codeWrongLast || e.ErrCode == codeWrongLastConstant):
		return 0, errConflict
	case e != nil:
		return 0, &refusedError{e.Code, strings.ToLower(e.Description)}
	case ack.Seq == 0:
		return 0, errors.New("answer without a sequence number")
	}
	return ack.Seq, nil
}
