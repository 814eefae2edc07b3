// Package events orders what happens in a simulation: by time and, at equal times, in the order in which it was planned, so
// that a simulation with the same input goes the same way.
package events

import "iter"

// Queue is a binary heap of events with times of type T. The zero value is empty; it allocates only to grow.
type Queue[T ~int64, E any] struct {
	heap []entry[T, E]
	made uint64
}

type entry[T ~int64, E any] struct {
	at    T
	order uint64
	event E
}

func (e *entry[T, E]) before(f *entry[T, E]) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// Len is the number of events that are to come.
func (q *Queue[T, E]) Len() int { return len(q.heap) }

// First is the time of the earliest event; there must be one.
func (q *Queue[T, E]) First() T { return q.heap[0].at }

// Add plans an event.
func (q *Queue[T, E]) Add(at T, event E) {
	q.heap = append(q.heap, entry[T, E]{at, q.made, event})
	q.made++
	h := q.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// Take removes the earliest event; there must be one.
func (q *Queue[T, E]) Take() (T, E) {
	h := q.heap
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = entry[T, E]{}
	q.heap = h[:last]
	h = q.heap
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return first.at, first.event
		}
		if down+1 < last && h[down+1].before(&h[down]) {
			down++
		}
		if !h[down].before(&h[i]) {
			return first.at, first.event
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// Shift moves all events by a time.
func (q *Queue[T, E]) Shift(by T) {
	for i := range q.heap {
		q.heap[i].at += by
	}
}

// All lists the events that are to come with their times, in no order.
func (q *Queue[T, E]) All() iter.Seq2[T, E] {
	return func(yield func(T, E) bool) {
		for i := range q.heap {
			if !yield(q.heap[i].at, q.heap[i].event) {
				return
			}
		}
	}
}
