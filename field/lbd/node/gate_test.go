package node

import (
	"testing"

	"pgregory.net/rapid"
)

// Every gate gives in one of two waves that follow each other and takes in the other one.
func TestGatesTakeTurns(t *testing.T) {
	gave := 0
	for gate := range ID(1000) {
		for seq := uint32(0); seq < 20; seq += 2 {
			if gives(gate, seq) == gives(gate, seq+1) {
				t.Fatalf("gate %d in waves %d and %d: %v twice", gate, seq, seq+1, gives(gate, seq))
			}
			if gives(gate, seq) {
				gave++
			}
		}
	}
	if gave < 4500 || gave > 5500 {
		t.Errorf("gates give %d times of 10000", gave)
	}
}

// A node turns only to where the largest cost on its way is clearly less, behind another gate that takes, and finds such a
// place within some waves when there is one.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := New(Config{ID: 1, Weight: rapid.Uint32Range(1, 20).Draw(t, "weight")})
		n.wave, n.parent, n.ready, n.settled = Wave{1, 9}, 2, true, true
		n.energy = rapid.Uint8Range(1, 255).Draw(t, "energy")
		n.gate = gate{3, rapid.Uint32Range(1, 5000).Draw(t, "top"), n.energy}
		n.nearby = append(n.nearby, neighbour{id: 2, wave: n.wave, gate: n.gate})
		for id := range ID(rapid.IntRange(0, 5).Draw(t, "neighbours")) {
			g := gate{ID(rapid.IntRange(3, 6).Draw(t, "gate")), rapid.Uint32Range(0, 5000).Draw(t, "its top"), rapid.Uint8().Draw(t, "weak")}
			n.nearby = append(n.nearby, neighbour{id: 10 + id, wave: n.wave, gate: g, core: rapid.IntRange(0, 9).Draw(t, "core") == 0})
		}
		limit, possible, turned := uint64(n.gate.top)*turnBelow/100, false, false
		for i := range n.nearby {
			nb := &n.nearby[i]
			possible = possible || nb.id != 2 && (nb.core || nb.gate.id != 3) && uint64(n.topBelow(nb)) <= limit
		}
		for seq := uint32(2); seq < 200; seq++ {
			to := n.turnTo(Wave{seq, 9})
			if to == 2 {
				continue
			}
			at, _ := n.find(to)
			nb := &n.nearby[at]
			if turned = true; uint64(n.topBelow(nb)) > limit || !nb.core && (nb.gate.id == 3 || gives(nb.gate.id, seq)) || !gives(3, seq) {
				t.Fatalf("from %+v to %+v in wave %d", n.gate, nb, seq)
			}
		}
		if turned != possible {
			t.Fatalf("turned %v, possible %v", turned, possible)
		}
	})
}

// Who is visited, is a gate or knows no threshold of this wave stays with its parent.
func TestWhoDoesNotTurn(t *testing.T) {
	for name, change := range map[string]func(*Node){
		"core": func(n *Node) { n.core = true }, "gate": func(n *Node) { n.upCore = true }, "not ready": func(n *Node) { n.ready = false }, "": func(*Node) {},
	} {
		n := New(Config{ID: 1, Weight: 1})
		n.wave, n.parent, n.ready, n.gate = Wave{1, 9}, 2, true, gate{3, 100, 255}
		n.nearby = []neighbour{{id: 2, wave: n.wave, gate: n.gate}, {id: 4, wave: n.wave, core: true}}
		change(n)
		turned := false
		for seq := uint32(2); seq < 100; seq++ {
			turned = turned || n.turnTo(Wave{seq, 9}) != 2
		}
		if turned != (name == "") {
			t.Errorf("%q: turned %v", name, turned)
		}
	}
}

// A neighbour is forgotten only when a unicast to it has been given up twice.
func TestGivenUpTwice(t *testing.T) {
	n := New(Config{ID: 1, Weight: 1, Slot: 32, Delay: 4})
	n.wave, n.parent, n.rank, n.settled = Wave{1, 9}, 2, 2, true
	n.nearby = []neighbour{{id: 2, wave: n.wave, rank: 1}, {id: 4, wave: n.wave, rank: 1}}
	n.send(Message{Kind: Load, To: 2})
	m := n.Outbox()[0]
	n.Sent(1, m, false)
	again := n.Outbox()
	if len(again) != 1 || again[0].To != 2 || n.parent != 2 {
		t.Fatalf("after the first time: %+v, parent %d", again, n.parent)
	}
	n.Sent(2, again[0], false)
	if repair := n.Outbox(); n.parent != 4 || len(repair) != 1 || repair[0].Kind != Repair || repair[0].To != 4 {
		t.Fatalf("after the second time: %+v, parent %d", repair, n.parent)
	}
}

// A child that joins when B is known is told at once. The heavy one comes first, as the node would leave the core without it.
func TestLateChildIsTold(t *testing.T) {
	n := New(Config{ID: 1, Weight: 1, Slot: 32, Delay: 4})
	n.wave, n.parent, n.rank, n.settled, n.ready, n.upCore, n.core, n.b = Wave{1, 9}, 2, 2, true, true, true, true, 10
	for _, c := range []child{{id: 5, load: 30}, {id: 6, load: 3}} {
		id, load := c.id, c.load
		n.Receive(1, Message{Kind: Join, From: id, To: 1, Peer: 1, Wave: n.wave, Rank: 3, Load: load})
		out := n.Outbox()
		if stop, listed := out[0].find(id); len(out) != 1 || out[0].Kind != Thresh || out[0].To != id || out[0].B != 10 || !listed || stop != (load > 10) {
			t.Errorf("load %d: %+v", load, out)
		}
	}
}
