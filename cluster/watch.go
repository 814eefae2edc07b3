package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Change is a record that was made, replaced or removed.
type Change struct {
	Entry
	Deleted bool // the record is gone; the revision is that of its removal
}

// Watch reports the changes of the records below a prefix. It belongs to one
// goroutine.
type Watch struct {
	c        *Cluster
	prefix   string
	consumer string // its name on the servers
	messages jetstream.MessagesContext
	position uint64    // sequence number of the last message that was seen
	expected uint64    // the consumer's number of the next message
	pending  uint64    // messages that were there when the consumer was made and are still to come
	contact  time.Time // when the servers last said something
}

const (
	watchHeartbeat = time.Second
	watchExpiry    = 30 * time.Second
	watchIdle      = 30 * time.Second // after which servers forget a watch that went silent
	watchBuffer    = 64               // messages
)

// Watch returns the records whose key is the prefix or begins with it and a
// dot, at least as new as all changes that were complete when the call began,
// sorted by key, and a Watch of every change since. A watch that is more than
// 64 changes of one record behind skips the oldest of them, never the newest.
func (c *Cluster) Watch(ctx context.Context, prefix string) ([]Entry, *Watch, error) {
	if err := checkKey(prefix); err != nil {
		return nil, nil, err
	}
	found, w, err := c.watch(ctx, prefix)
	if err != nil {
		return nil, nil, err
	}
	entries := make([]Entry, len(found))
	for i, s := range found {
		entries[i] = s.Entry
	}
	return entries, w, nil
}

func (c *Cluster) watch(ctx context.Context, prefix string) ([]stored, *Watch, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	after, err := c.mark(ctx)
	if err != nil {
		return nil, nil, c.failed(prefix, err, false)
	}
	w := &Watch{c: c, prefix: prefix, contact: time.Now()}
	present := map[string]stored{}
	for w.position < after || w.pending > 0 {
		s, err := w.next(ctx)
		if err != nil {
			w.Close()
			return nil, nil, c.failed(prefix, err, false)
		}
		if s.Key == c.barrier {
			continue
		}
		if s.gone {
			delete(present, s.Key)
			continue
		}
		present[s.Key] = s
	}
	found := make([]stored, 0, len(present))
	for _, s := range present {
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b stored) int { return strings.Compare(a.Key, b.Key) })
	return found, w, nil
}

// Next waits for the next change. It ends with the context's error, with
// ErrClosed, or with an error that wraps ErrLost; connections that are lost
// meanwhile are replaced.
func (w *Watch) Next(ctx context.Context) (Change, error) {
	for {
		s, err := w.next(ctx)
		if err != nil {
			return Change{}, fmt.Errorf("watching %s: %w", w.prefix, err)
		}
		if s.Key != w.c.barrier {
			return Change{s.Entry, s.gone}, nil
		}
	}
}

// next returns the next message in the order of the stream, each once.
func (w *Watch) next(ctx context.Context) (stored, error) {
	for {
		if err := ctx.Err(); err != nil {
			return stored{}, err
		}
		if w.c.closing.Err() != nil {
			return stored{}, ErrClosed
		}
		if w.messages == nil {
			err := w.subscribe(ctx)
			switch {
			case errors.Is(err, ErrLost):
				return stored{}, err
			case err != nil:
				pause(ctx, retryWait)
				continue
			}
		}
		m, err := w.messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			if ctx.Err() == nil {
				w.unsubscribe()
			}
			continue
		}
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Consumer != w.expected {
			w.unsubscribe() // something was lost on the way: start again behind the last message
			continue
		}
		w.expected++
		w.pending -= min(w.pending, 1)
		w.contact = time.Now()
		if meta.Sequence.Stream <= w.position {
			continue
		}
		w.position = meta.Sequence.Stream
		return decode(strings.TrimPrefix(m.Subject(), w.c.subjects), w.position, m.Headers(), m.Data()), nil
	}
}

// subscribe asks the servers for the messages behind the last one that was
// seen.
func (w *Watch) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := w.unbroken(ctx); err != nil {
		return err
	}
	config := jetstream.ConsumerConfig{
		FilterSubjects:    []string{w.c.subjects + w.prefix, w.c.subjects + w.prefix + ".>", w.c.subjects + w.c.barrier},
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: watchIdle,
		MemoryStorage:     true,
		Replicas:          1,
	}
	if w.position > 0 {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, w.position+1
	}
	consumer, err := w.c.js.CreateConsumer(ctx, w.c.stream, config)
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	w.consumer, w.expected, w.pending = info.Name, 1, info.NumPending
	w.messages, err = consumer.Messages(
		jetstream.PullMaxMessages(watchBuffer),
		jetstream.PullExpiry(watchExpiry),
		jetstream.PullHeartbeat(watchHeartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	return err
}

// unbroken checks that the servers still have what the watch has not seen.
func (w *Watch) unbroken(ctx context.Context) error {
	stream, err := w.c.js.Stream(ctx, w.c.stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%w: the store was removed", ErrLost)
	case err != nil:
		return err
	case !stream.CachedInfo().Created.Equal(w.c.created):
		return fmt.Errorf("%w: the store is a new one", ErrLost)
	case w.position > 0 && time.Since(w.contact) > removalTTL/2:
		return fmt.Errorf("%w: no connection for %v", ErrLost, time.Since(w.contact).Round(time.Second))
	}
	return nil
}

func (w *Watch) unsubscribe() {
	if w.messages != nil {
		w.messages.Stop()
		w.messages = nil
	}
}

// Close ends the watch.
func (w *Watch) Close() {
	if w.messages == nil {
		return
	}
	w.unsubscribe()
	ctx, cancel := context.WithTimeout(w.c.closing, time.Second)
	defer cancel()
	_ = w.c.js.DeleteConsumer(ctx, w.c.stream, w.consumer) // else the servers forget it by themselves
}
