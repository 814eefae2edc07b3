package field

import (
	"math"
	"slices"
	"time"
)

// Energy is a radio's energy model: linear in bits, with an amplifier term that depends on distance
// (Heinzelman et al., HICSS 2000). Radios of fixed power have no amplifier term.
type Energy struct {
	Name       string  `json:"name"`
	PacketBits int     `json:"packet_bits"` // bits on air in a packet
	TxBit      float64 `json:"tx_bit"`      // joules per bit sent, electronics
	RxBit      float64 `json:"rx_bit"`      // joules per bit received
	AmpFree    float64 `json:"amp_free"`    // joules per bit and m^2, below the crossover distance
	AmpMulti   float64 `json:"amp_multi"`   // joules per bit and m^4, from the crossover distance on
	Idle       float64 `json:"idle"`        // watts while listening for nothing
	Sleep      float64 `json:"sleep"`       // watts while asleep
	BitRate    float64 `json:"bit_rate"`    // bits per second on air
	DutyCycle  float64 `json:"duty_cycle"`  // largest part of the time that may be spent sending; 0 means no limit
}

// FirstOrder is the first-order radio model with its usual constants: 50 nJ/bit, 10 pJ/bit/m^2,
// 0.0013 pJ/bit/m^4, packets of 4000 bits.
func FirstOrder() Energy {
	return Energy{Name: "first-order", PacketBits: 4000, TxBit: 50e-9, RxBit: 50e-9, AmpFree: 10e-12, AmpMulti: 0.0013e-12, BitRate: 250e3}
}

// CC2420 is an IEEE 802.15.4 radio at 3 V: 17.4 mA sending at 0 dBm, 18.8 mA receiving, 250 kbit/s, 1 uA
// asleep, packets of 127 bytes and 6 bytes of preamble and length.
func CC2420() Energy {
	const volt, rate = 3.0, 250e3
	return Energy{Name: "cc2420", PacketBits: 8 * 133, TxBit: volt * 17.4e-3 / rate, RxBit: volt * 18.8e-3 / rate,
		Idle: volt * 18.8e-3, Sleep: volt * 1e-6, BitRate: rate}
}

// LoRa is an SX127x radio at 3.3 V (29 mA at 13 dBm sending, 10.8 mA receiving, 125 kHz, coding rate 4/5)
// with a payload of 20 bytes, at spreading factor sf from 7 to 12, and a duty cycle of 1 %.
// The time on air is the formula of Semtech AN1200.13.
func LoRa(sf int) Energy {
	const volt, payload, bandwidth = 3.3, 20, 125e3
	sf = min(max(sf, 7), 12)
	symbol := math.Exp2(float64(sf)) / bandwidth
	slow := 0.0
	if sf >= 11 {
		slow = 1
	}
	symbols := 8 + math.Max(0, math.Ceil((8*payload-4*float64(sf)+28+16)/(4*(float64(sf)-2*slow))))*5
	air := (8+4.25)*symbol + symbols*symbol
	bits := float64(8 * payload)
	return Energy{Name: "lora-sf" + string([]byte{'0' + byte(sf/10), '0' + byte(sf%10)}), PacketBits: 8 * payload,
		TxBit: volt * 29e-3 * air / bits, RxBit: volt * 10.8e-3 * air / bits, Idle: volt * 10.8e-3, Sleep: volt * 0.2e-6,
		BitRate: bits / air, DutyCycle: 0.01}
}

// Presets returns the named energy models.
func Presets() []Energy {
	list := []Energy{FirstOrder(), CC2420()}
	for sf := 7; sf <= 12; sf++ {
		list = append(list, LoRa(sf))
	}
	return list
}

// Crossover is the distance in metres at which the two amplifier terms are equal; 0 without a multipath term.
func (e *Energy) Crossover() float64 {
	if e.AmpMulti <= 0 {
		return 0
	}
	return math.Sqrt(e.AmpFree / e.AmpMulti)
}

// Tx is the energy in joules to send one packet over d metres once.
func (e *Energy) Tx(d float64) float64 {
	bits := float64(e.PacketBits)
	if x := e.Crossover(); x > 0 && d >= x {
		return bits * (e.TxBit + e.AmpMulti*d*d*d*d)
	}
	return bits * (e.TxBit + e.AmpFree*d*d)
}

// Rx is the energy in joules to receive one packet.
func (e *Energy) Rx() float64 { return float64(e.PacketBits) * e.RxBit }

// PerRound is the energy in joules that each sensor uses in a round of the plan: sending (every
// repetition counted), receiving what it relays, and sleeping for the rest of the period. Sensors
// that are not served only sleep.
func PerRound(in *Instance, p *Plan) []float64 {
	use := make([]float64, len(in.Sensors))
	e := in.Energy
	rest := e.Sleep * in.Sink.Deadline.Seconds()
	for i := range use {
		use[i] += rest
		switch parent := p.Parent[i]; {
		case parent >= 0:
			use[i] += p.Load[i] * e.Tx(in.Sensors[i].Pos.Dist(in.Sensors[parent].Pos))
		case parent == ToSink:
			use[i] += p.Load[i] * e.Tx(in.Sensors[i].Pos.Dist(p.Stops[p.Stop[i]].Pos))
		}
	}
	packets := Packets(in, p)
	for i := range use {
		if p.Parent[i] != NoRoute {
			use[i] += (packets[i] - in.Sensors[i].Weight) * e.Rx()
		}
	}
	return use
}

// Lifetime tells when sensors die, in rounds, if every round is alike and routes are not repaired.
type Lifetime struct {
	FirstDeath float64       `json:"first_death"` // rounds; +Inf when nothing is used
	First      int           `json:"first"`       // sensor that dies first, -1 when none does
	TenPercent float64       `json:"ten_percent"` // rounds until a tenth of the served sensors is dead
	Jain       float64       `json:"jain"`        // Jain's index of the energy used by served sensors: 1 is perfectly even
	Round      time.Duration `json:"round"`       // length of a round
}

// Estimate computes the plan's lifetime from PerRound.
func Estimate(in *Instance, p *Plan) Lifetime {
	life := Lifetime{FirstDeath: math.Inf(1), TenPercent: math.Inf(1), First: -1, Round: in.Sink.Deadline}
	var rounds []float64
	var sum, squares float64
	for i, use := range PerRound(in, p) {
		if p.Parent[i] == NoRoute {
			continue
		}
		sum, squares = sum+use, squares+use*use
		last := math.Inf(1)
		if use > 0 {
			last = in.Sensors[i].Energy / use
		}
		rounds = append(rounds, last)
		if last < life.FirstDeath {
			life.FirstDeath, life.First = last, i
		}
	}
	if len(rounds) == 0 {
		return life
	}
	slices.Sort(rounds)
	life.TenPercent = rounds[(len(rounds)+9)/10-1]
	if squares > 0 {
		life.Jain = sum * sum / (float64(len(rounds)) * squares)
	}
	return life
}

// Packets is, per sensor, the distinct packets that it passes on in a round, its own included.
func Packets(in *Instance, p *Plan) []float64 {
	n := len(in.Sensors)
	packets, waiting := make([]float64, n), make([]int32, n)
	for i, parent := range p.Parent {
		if parent != NoRoute {
			packets[i] += in.Sensors[i].Weight
		}
		if parent >= 0 {
			waiting[parent]++
		}
	}
	ready := make([]int32, 0, n)
	for i := range waiting {
		if waiting[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if parent := p.Parent[i]; parent >= 0 {
			packets[parent] += packets[i]
			if waiting[parent]--; waiting[parent] == 0 {
				ready = append(ready, parent)
			}
		}
	}
	return packets
}
