package lbd

import (
	"fmt"
	"math"

	"millrace.dev/field"
	"millrace.dev/field/lbd/node"
)

// UnsupportedError is an instance that the protocol is not made for.
type UnsupportedError struct{ Problem string }

func (e *UnsupportedError) Error() string {
	return "the protocol cannot run this plan's network: " + e.Problem
}

// BadInput marks the error as a fault of the data rather than of the program.
func (e *UnsupportedError) BadInput() bool { return true }

// supported refuses what the protocol, in which nodes know no places and count whole packets, does not cover.
func supported(in *field.Instance) error {
	no := func(format string, args ...any) error { return &UnsupportedError{fmt.Sprintf(format, args...)} }
	if len(in.Sensors) > int(node.MaxID) {
		return no("%d sensors are more than its 16-bit ids can name", len(in.Sensors))
	}
	if !(in.Sink.Speed > 0) {
		return no("its vehicle needs a speed, not %g m/s", in.Sink.Speed)
	}
	if in.Vehicles() > 1 {
		return no("it has one vehicle, not %d", in.Vehicles())
	}
	if in.Upload == field.Buffer {
		return no("its vehicle listens to all sensors around a stop, not to one alone")
	}
	for _, o := range in.Obstacles {
		if o.NoFly {
			return no("its vehicle goes straight from sensor to sensor and knows nothing of no-fly zone %q", o.Name)
		}
	}
	sum := 0.0
	for _, s := range in.Sensors {
		if s.Weight != math.Trunc(s.Weight) {
			return no("sensor %q makes %g packets a round, but it counts whole packets", s.ID, s.Weight)
		}
		sum += s.Weight
	}
	if sum > math.MaxInt32 {
		return no("%g packets a round are more than its counters hold", sum)
	}
	return nil
}
