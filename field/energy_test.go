package field

import (
	"math"
	"testing"
	"time"
)

func TestFirstOrderModel(t *testing.T) {
	e := FirstOrder()
	if x := e.Crossover(); math.Abs(x-87.7) > 0.05 {
		t.Errorf("crossover at %g m, want 87.7", x)
	}
	for _, c := range []struct{ d, want float64 }{
		{0, 4000 * 50e-9},
		{50, 4000 * (50e-9 + 10e-12*2500)},
		{100, 4000 * (50e-9 + 0.0013e-12*1e8)},
	} {
		if got := e.Tx(c.d); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("sending over %g m takes %g J, want %g", c.d, got, c.want)
		}
	}
	if got := e.Rx(); math.Abs(got-2e-4) > 1e-15 {
		t.Errorf("receiving takes %g J", got)
	}
}

func TestReceivingCostsMoreThanSendingOnCC2420(t *testing.T) {
	e := CC2420()
	if e.Tx(10) >= e.Rx() || e.Tx(10) != e.Tx(100) {
		t.Errorf("sending %g and %g J, receiving %g", e.Tx(10), e.Tx(100), e.Rx())
	}
	if want := 8 * 133 * 3 * 17.4e-3 / 250e3; math.Abs(e.Tx(10)-want) > 1e-12 {
		t.Errorf("sending takes %g J, want %g", e.Tx(10), want)
	}
}

func TestLoRaTimeOnAir(t *testing.T) {
	// 20 bytes of payload, explicit header, 8 symbols of preamble: 56.58 ms at SF7 and 1318.91 ms at SF12 with low-data-rate optimisation.
	for sf, want := range map[int]float64{7: 0.05658, 12: 1.31891} {
		e := LoRa(sf)
		if air := float64(e.PacketBits) / e.BitRate; math.Abs(air-want) > 1e-4 {
			t.Errorf("SF%d: %g s on air, want %g", sf, air, want)
		}
		if e.DutyCycle != 0.01 {
			t.Errorf("SF%d: duty cycle %g", sf, e.DutyCycle)
		}
	}
	if got := LoRa(3).Name; got != "lora-sf07" {
		t.Errorf("name %q", got)
	}
}

// TestLifetimeOfAChain works out a chain of three sensors by hand: the last two send over 10 m, the first uploads where it stands.
func TestLifetimeOfAChain(t *testing.T) {
	in := &Instance{Range: 12, Upload: Buffer, Energy: FirstOrder(), Sink: Sink{Speed: 1, Deadline: time.Minute}}
	for i := range 3 {
		in.Sensors = append(in.Sensors, Sensor{ID: string(rune('a' + i)), Pos: Point{10 * float64(i), 0}, Weight: 2, Energy: 1})
	}
	p := &Plan{Parent: []int32{ToSink, 0, 1}, Stop: []int32{0, -1, -1}, Load: []float64{6, 4, 2}, Stops: []Stop{{Pos: Point{0, 0}, Uploaders: []int32{0}, Packets: 6}}}
	e := in.Energy
	want := []float64{6*e.Tx(0) + 4*e.Rx(), 4*e.Tx(10) + 2*e.Rx(), 2 * e.Tx(10)}
	for i, use := range PerRound(in, p) {
		if math.Abs(use-want[i]) > 1e-15 {
			t.Errorf("sensor %d uses %g J a round, want %g", i, use, want[i])
		}
	}
	life := Estimate(in, p)
	if life.First != 0 || math.Abs(life.FirstDeath-1/want[0]) > 1e-6 || life.TenPercent != life.FirstDeath {
		t.Errorf("%+v", life)
	}
	sum, squares := want[0]+want[1]+want[2], want[0]*want[0]+want[1]*want[1]+want[2]*want[2]
	if math.Abs(life.Jain-sum*sum/3/squares) > 1e-12 {
		t.Errorf("Jain's index %g", life.Jain)
	}
	in.Energy.Sleep = 1e-3
	if use := PerRound(in, p); math.Abs(use[2]-want[2]-0.06) > 1e-12 {
		t.Errorf("a minute asleep at 1 mW adds %g J", use[2]-want[2])
	}
}
