package crew

import "time"

// target is how many workers a launcher holds, and when it replaces those that are lost. Each loss
// doubles the time until the next replacement, and a quiet time takes that back, so that a machine
// on which workers cannot live is not kept busy with starting them.
type target struct {
	workers  int
	cooldown time.Duration // before the replacement after the next loss; 0: first
	due      time.Time     // when to start what is missing; zero: nothing is
	lastLoss time.Time
}

const (
	firstCooldown = 10 * time.Second
	lastCooldown  = 100 * time.Second
	quiet         = 10 * time.Minute
)

// lose notes a loss and returns how long it is until the replacement.
func (t *target) lose(now time.Time) time.Duration {
	if t.cooldown == 0 || now.Sub(t.lastLoss) > quiet {
		t.cooldown = firstCooldown
	}
	t.lastLoss = now
	if t.due.IsZero() {
		t.due = now.Add(t.cooldown)
		t.cooldown = min(2*t.cooldown, lastCooldown)
	}
	return t.due.Sub(now)
}

// resize sets the number; what is missing is due at once.
func (t *target) resize(n int, now time.Time) {
	t.workers, t.due = n, now
}

// fewer takes back n that have left for good.
func (t *target) fewer(n int) { t.workers = max(t.workers-n, 0) }

// missing is how many to start now, where some stay.
func (t *target) missing(now time.Time, staying int) int {
	if t.due.IsZero() || now.Before(t.due) {
		return 0
	}
	t.due = time.Time{}
	return max(t.workers-staying, 0)
}
