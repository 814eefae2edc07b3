package sim

import (
	"fmt"
	"testing"
	"time"

	"millrace.dev/fabric/internal/conform"
)

func TestSimulationConforms(t *testing.T) {
	for name, link := range map[string]Link{
		"instant": {},
		"slow":    {Min: time.Millisecond, Max: 50 * time.Millisecond},
		"lossy":   {Max: time.Millisecond, Loss: 0.1, Retry: 20 * time.Millisecond},
		"narrow":  {Max: time.Millisecond, Bandwidth: 10e6},
	} {
		t.Run(name, func(t *testing.T) {
			conform.Run(t, func(t *testing.T) conform.Env {
				w, listeners := New(1, link), 0
				addr := func() string {
					listeners++
					return fmt.Sprint("sim:server:", listeners)
				}
				return conform.Env{
					Server: w.Host("server"), Client: w.Host("client"),
					Addr: addr, Nobody: "sim:server:nobody",
					Wait: func(condition func() bool) bool { return w.RunUntil(condition, time.Hour) },
				}
			})
		})
	}
}
