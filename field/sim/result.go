package sim

import (
	"cmp"
	"slices"

	"millrace.dev/field"
)

// Result is what a simulation saw. Moments are in rounds since the start; nil when they did not come.
type Result struct {
	Rounds      float64  `json:"rounds"` // simulated
	Steady      int      `json:"steady"` // rounds among them that were booked at once because they equal the one before
	FirstDeath  *float64 `json:"first_death"`
	First       string   `json:"first,omitempty"` // id of the sensor that died first
	TenPercent  *float64 `json:"ten_percent"`     // a tenth of the served sensors is dead
	Partition   *float64 `json:"partition"`       // a living sensor has no way over living ones to any stop
	Dead        int      `json:"dead"`
	Made        int64    `json:"made"`      // packets
	Delivered   int64    `json:"delivered"` //
	Ratio       float64  `json:"ratio"`     // Delivered / (Made - Held)
	Held        int64    `json:"held"`      // in buffers at the end
	Overflow    int64    `json:"overflow"`  // lost in full buffers
	Lost        int64    `json:"lost"`      // given up after all retries
	Buried      int64    `json:"buried"`    // lost with, or sent to, a dead node
	AgeP50      float64  `json:"age_p50"`   // seconds between the making and the upload of a packet
	AgeP99      float64  `json:"age_p99"`
	Jain        float64  `json:"jain"`   // Jain's index of the energy used up to the first death (or the end) by served sensors
	Energy      Energy   `json:"energy"` // of all sensors
	Nodes       []Node   `json:"-"`      // of each sensor, in the order of the instance
	HotSpots    []Node   `json:"hot_spots"`
	Transmitted int64    `json:"transmitted"` // attempts
}

// Energy is how nanojoules were spent.
type Energy struct {
	Transmit int64 `json:"transmit_nj"`
	Receive  int64 `json:"receive_nj"`
	Idle     int64 `json:"idle_nj"`
	Sleep    int64 `json:"sleep_nj"`
	Left     int64 `json:"left_nj"`
}

// Spent is the sum over the states.
func (e Energy) Spent() int64 { return e.Transmit + e.Receive + e.Idle + e.Sleep }

// Node is what became of one sensor.
type Node struct {
	ID       string  `json:"id"`
	Energy   Energy  `json:"energy"`
	Death    float64 `json:"death"` // in rounds; 0 when it lives
	Dead     bool    `json:"dead"`
	Overflow int64   `json:"overflow"`
}

// hotSpots is how many of the nodes that spent most a Result lists.
const hotSpots = 10

func (r *run) result() *Result {
	res := &r.res
	res.Rounds = r.now()
	for i := range r.nodes {
		n := &r.nodes[i]
		spent := n.battery.spent
		e := Energy{spent[Transmit], spent[Receive], spent[Idle], spent[Sleep], n.battery.left}
		res.Energy.Transmit += e.Transmit
		res.Energy.Receive += e.Receive
		res.Energy.Idle += e.Idle
		res.Energy.Sleep += e.Sleep
		res.Energy.Left += e.Left
		res.Held += int64(n.held.size)
		res.Nodes = append(res.Nodes, Node{r.in.Sensors[i].ID, e, n.death, n.dead && r.in.Sensors[i].Energy > 0, n.overflow})
	}
	if res.FirstDeath == nil {
		res.Jain = r.jain()
	}
	if settled := res.Made - res.Held; settled > 0 {
		res.Ratio = float64(res.Delivered) / float64(settled)
	}
	res.AgeP50, res.AgeP99 = r.ages.quantile(0.5), r.ages.quantile(0.99)
	order := slices.Clone(res.Nodes)
	slices.SortStableFunc(order, func(a, b Node) int { return cmp.Compare(b.Energy.Spent(), a.Energy.Spent()) })
	res.HotSpots = order[:min(len(order), hotSpots)]
	return res
}

// jain is Jain's index of fairness, (sum x)^2 / (n sum x^2), of what served sensors have spent.
func (r *run) jain() float64 {
	var sum, squares float64
	count := 0
	for i := range r.nodes {
		if r.plan.Parent[i] == field.NoRoute {
			continue
		}
		x := float64(r.nodes[i].battery.total())
		sum, squares, count = sum+x, squares+x*x, count+1
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(count) * squares)
}
