package control_test

import (
	"fmt"
	"time"

	"millrace.dev/control"
)

// A training loop lowers its learning rate when the validation loss stalls.
func Example() {
	rate := 0.1
	loop, err := control.NewLoop(control.NewJournal(), control.Config{
		Settings: map[string]control.Setting{"learning rate": control.Number(rate)},
		Policies: []control.Policy{control.Plateau{
			Setting: "learning rate", Signal: "validation loss", Better: control.Lower,
			Delta: 0.01, Patience: 2, Factor: 0.1, Floor: 0.001,
		}},
		Apply: func(d control.Decision) error {
			fmt.Printf("after step %d: %s\nbecause %s\n", d.Point, d.Change(), d.Reason)
			rate = d.New.Number()
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	now := time.Unix(0, 0)
	for epoch, loss := range []float64{0.9, 0.6, 0.6, 0.6, 0.6} {
		step := uint64(epoch+1) * 100
		signal := control.Signal{Name: "validation loss", Unit: "nats", Time: now, Point: step, Value: loss}
		if err := loop.Observe(signal); err != nil {
			fmt.Println(err)
		}
		if err := loop.Decide(step, now); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("learning rate %.3g\n", rate)
	// Output:
	// after step 400: learning rate 0.1 → 0.01
	// because validation loss has not improved on 0.6 for 2 measurements (patience 2, smallest improvement 0.01)
	// learning rate 0.01
}
