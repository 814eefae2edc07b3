package train

import (
	"time"

	"millrace.dev/control"
)

// newLoop makes the control loop with the policies that the configuration asks for.
func (t *Trainer) newLoop() error {
	if t.cfg.Journal == nil {
		t.cfg.Journal = control.NewJournal()
	}
	c := control.Config{
		Settings: map[string]control.Setting{
			SettingRateFactor: control.Number(1),
			SettingTraining:   control.Run,
		},
		Apply: t.apply,
	}
	if t.cfg.Group != nil {
		c.Settings[SettingWorkers], c.Settings[SettingSkipped] = control.Number(0), control.Number(0)
		c.Settings[SettingReduction] = control.Word("none")
	}
	if t.cfg.Plateau != nil {
		c.Policies = append(c.Policies, *t.cfg.Plateau)
	}
	if t.cfg.Stop != nil {
		c.Policies = append(c.Policies, *t.cfg.Stop)
	}
	if n := len(t.cfg.Choices); n > 1 && t.cfg.Threads != nil {
		choices := make([]float64, n)
		for i, k := range t.cfg.Choices {
			choices[i] = float64(k)
		}
		c.Settings[SettingThreads] = control.Number(choices[n-1])
		c.Policies = append(c.Policies, control.HillClimb{
			Setting: SettingThreads, Signal: SignalThroughput, Choices: choices,
			// Other work on the machine moves throughput as well: only what stands out counts, and
			// half a minute passes before the next look.
			Samples: 5, Skip: 1, Margin: 0.1, Drift: 0.5, Rest: 60,
		})
	}
	loop, err := control.NewLoop(t.cfg.Journal, c)
	t.loop = loop
	return err
}

// apply puts a decision into force. Settings that are read where they matter need nothing.
func (t *Trainer) apply(d control.Decision) error {
	if d.Subject == SettingThreads {
		t.applyThreads(d.New)
	}
	return nil
}

func (t *Trainer) applyThreads(s control.Setting) {
	if n := int(s.Number()); n > 0 && t.cfg.Threads != nil {
		t.cfg.Threads.SetThreads(n)
	}
}

func (t *Trainer) observe(now time.Time, name, unit string, v float64) {
	t.note(t.loop.Observe(control.Signal{Name: name, Unit: unit, Time: now, Point: uint64(t.state.Step), Value: v}))
}

func (t *Trainer) decide(now time.Time) { t.note(t.loop.Decide(uint64(t.state.Step), now)) }

// note reports that the journal cannot be written, once until it can be again. Such a signal
// or decision is lost; training goes on.
func (t *Trainer) note(err error) {
	if err != nil && !t.journalFailed {
		t.report(err)
	}
	t.journalFailed = err != nil
}
