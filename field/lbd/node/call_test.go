package node

import (
	"testing"

	"pgregory.net/rapid"
)

// hub is a root with k leaves that have joined it, in wave 1. The even ones have loads above the threshold.
func hub(k int) (*Node, []*Node) {
	root := New(Config{ID: 1, Slot: 32, Delay: 4})
	root.wave, root.ready, root.settled, root.gathered, root.core, root.b = Wave{1, 1}, true, true, true, true, 10
	var leaves []*Node
	for i := range k {
		leaf := New(Config{ID: ID(10 + i), Weight: 1, Slot: 32, Delay: 4})
		leaf.wave, leaf.parent, leaf.rank, leaf.settled = root.wave, 1, 1, true
		leaves = append(leaves, leaf)
		root.children = append(root.children, child{id: leaf.cfg.ID, load: uint32(20 * (1 - i%2))})
	}
	return root, leaves
}

// settleCall lets the hub and its leaves talk until nobody has anything to say; hears tells which broadcasts arrive, and a unicast arrives at all who
// live. It counts the hub's frames.
func settleCall(root *Node, leaves []*Node, dead int, hears func(leaf int) bool) (frames int) {
	for now := Time(1); now < 2000; now++ {
		if at := root.NextWake(); at > 0 && at <= now {
			root.Wake(now)
		}
		for _, m := range root.Outbox() {
			frames++
			for i, leaf := range leaves {
				if i != dead && (m.To == leaf.cfg.ID || m.To == Nobody && hears(i)) {
					leaf.Receive(now, m)
				}
			}
			if m.To != Nobody {
				root.Sent(now, m, dead < 0 || m.To != leaves[dead].cfg.ID)
			}
		}
		for _, leaf := range leaves {
			if at := leaf.NextWake(); at > 0 && at <= now {
				leaf.Wake(now)
			}
			for _, m := range leaf.Outbox() {
				root.Receive(now, m)
			}
		}
	}
	return frames
}

// A hub tells up to 32 children with one frame when all hear it.
func TestOneFrameForAll(t *testing.T) {
	for k, want := range map[int]int{0: 0, 1: 1, 2: 1, 32: 1, 33: 2, 100: 4} {
		root, leaves := hub(k)
		root.spread(1)
		if frames := settleCall(root, leaves, -1, func(int) bool { return true }); frames != want {
			t.Errorf("%d children: %d frames, want %d", k, frames, want)
		}
	}
}

// Whatever is lost, all children that live learn the threshold and whether they are visited, also when it is spread once more in the wave; one that is
// dead is given up.
func TestAllLearnTheThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 80).Draw(t, "children")
		root, leaves := hub(k)
		dead := rapid.IntRange(-1, k-1).Draw(t, "dead")
		loss := rapid.IntRange(0, 100).Draw(t, "loss")
		state := rapid.Uint32().Draw(t, "seed")
		hears := func(int) bool {
			state = hash(state, 1)
			return int(state%100) >= loss
		}
		for _, core := range []bool{true, false, true} {
			root.core = core
			root.spread(1)
			settleCall(root, leaves, dead, hears)
			for i, leaf := range leaves {
				c := root.child(leaf.cfg.ID)
				switch {
				case i == dead:
					if c != nil {
						t.Fatal("the dead child is still one")
					}
				case c == nil || c.due || !leaf.ready || leaf.b != 10 || leaf.core != c.core || leaf.core != (core && i%2 == 0) || leaf.upCore != core:
					t.Fatalf("child %d: %+v, itself %+v", i, c, leaf)
				}
			}
		}
	})
}

// A repeated threshold is only confirmed, and an older one does not undo a newer one.
func TestOldThresholds(t *testing.T) {
	n := New(Config{ID: 10, Weight: 1, Slot: 32, Delay: 4})
	n.wave, n.parent, n.rank, n.settled = Wave{1, 1}, 1, 1, true
	call := func(no uint8, b uint32) {
		m := Message{Kind: Thresh, From: 1, To: Nobody, Wave: n.wave, Call: no, B: b}
		m.Hist[3] = 10
		n.Receive(1, m)
		if n.Wake(n.NextWake()); n.timer[tConfirm] != 0 {
			t.Fatal("no confirmation")
		}
		if out := n.Outbox(); len(out) != 1 || out[0].Kind != Hello || out[0].To != 1 || out[0].Heard != n.heardNo {
			t.Fatalf("%+v", out)
		}
	}
	for _, c := range []struct {
		no      uint8
		b, want uint32
	}{{254, 7, 7}, {255, 8, 8}, {255, 8, 8}, {254, 7, 8}, {1, 9, 9}, {255, 8, 9}} {
		if call(c.no, c.b); n.b != c.want {
			t.Errorf("after number %d: B is %d, want %d", c.no, n.b, c.want)
		}
	}
	n.Receive(1, Message{Kind: Thresh, From: 1, To: Nobody, Wave: n.wave, Call: 2, B: 5})
	if n.b != 9 {
		t.Error("took a threshold that is for others")
	}
}

// When a wave comes in a hurry and a child has entered it by another way, the node follows at once: its own parent may be gone. In other waves it
// waits for its parent, and so it does when the wave comes from somebody else.
func TestFollowsAChildInAHurry(t *testing.T) {
	for _, c := range []struct {
		flags   uint16
		from    ID
		follows bool
	}{{flagHurry, 5, true}, {0, 5, false}, {flagHurry, 6, false}} {
		n := New(Config{ID: 1, Weight: 1, Slot: 32, Delay: 4, Epoch: 1000})
		n.wave, n.parent, n.rank, n.settled = Wave{1, 9}, 2, 2, true
		n.children = []child{{id: 5, load: 3}}
		n.Receive(1, Message{Kind: Hello, From: c.from, To: 7, Wave: Wave{2, 9}, Rank: 4, Peer: 7, Flags: c.flags, Lo: 1, Hi: 40})
		if follows := n.wave.Seq == 2 && n.parent == c.from && n.rank == 5; follows != c.follows {
			t.Errorf("%+v: wave %v, parent %d", c, n.wave, n.parent)
		}
	}
}
