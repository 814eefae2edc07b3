package control

import (
	"maps"
	"slices"
	"sort"
)

// keep is the number of newest samples of each signal, and of newest decisions
// of each policy, that a history holds at least.
const keep = 4096

// History is what policies see: the newest signals, the settings in force and
// the policies' own decisions. The slices it returns are read-only and valid
// until the policy returns.
type History struct {
	series    map[string]*window[Signal]
	settings  map[string]Setting
	decisions map[author]*window[Decision]
}

// author identifies a policy within a loop.
type author struct{ policy, subject string }

func newHistory() *History {
	return &History{
		series:    map[string]*window[Signal]{},
		settings:  map[string]Setting{},
		decisions: map[author]*window[Decision]{},
	}
}

// Signals returns the samples of a signal, oldest first.
func (h *History) Signals(name string) []Signal { return find(h.series, name) }

// Decisions returns the decisions of a policy, oldest first.
func (h *History) Decisions(p Policy) []Decision {
	return find(h.decisions, author{p.Name(), p.Subject()})
}

// Setting returns the setting in force of a subject.
func (h *History) Setting(subject string) Setting { return h.settings[subject] }

func (h *History) observe(s Signal) { into(h.series, s.Name, s) }

func (h *History) decide(d Decision) {
	into(h.decisions, author{d.Policy, d.Subject}, d)
	h.settings[d.Subject] = d.New
}

// split divides samples into those measured up to a point and those after it.
func split(samples []Signal, point uint64) (until, after []Signal) {
	at := sort.Search(len(samples), func(i int) bool { return samples[i].Point > point })
	return samples[:at], samples[at:]
}

// window holds the newest items, between keep and twice as many once it has
// seen that many, so that dropping old ones costs little and allocates nothing.
type window[T any] struct{ items []T }

func (w *window[T]) add(item T) {
	if len(w.items) == 2*keep {
		w.items = w.items[:copy(w.items, w.items[keep:])]
	}
	w.items = append(w.items, item)
}

func find[K comparable, T any](windows map[K]*window[T], name K) []T {
	if w := windows[name]; w != nil {
		return w.items
	}
	return nil
}

func into[K comparable, T any](windows map[K]*window[T], name K, item T) {
	w := windows[name]
	if w == nil {
		w = &window[T]{}
		windows[name] = w
	}
	w.add(item)
}

func sortedKeys(settings map[string]Setting) []string {
	return slices.Sorted(maps.Keys(settings))
}
