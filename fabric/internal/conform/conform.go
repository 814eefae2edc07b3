// Package conform tests that a network keeps the promises of package fabric.
// Sockets and the simulation run the same tests, so that what a protocol does
// in simulation it does on sockets.
package conform

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"millrace.dev/fabric"
)

// Env is two ends of one network. Their peers know them as "server" and "client".
type Env struct {
	Server, Client fabric.Network
	Addr           func() string // for the server to listen on, another each time
	Nobody         string        // an address that nobody listens on
	// Wait returns when the condition holds, or false if it never will.
	Wait func(condition func() bool) bool
}

// Run runs all tests, each in a new environment.
func Run(t *testing.T, env func(t *testing.T) Env) {
	for name, test := range map[string]func(*testing.T, Env){
		"order":          testOrder,
		"done":           testDone,
		"credit":         testCredit,
		"early":          testEarly,
		"close":          testClose,
		"handler errors": testHandlerErrors,
		"refuse":         testRefuse,
		"nobody":         testNobody,
		"bad address":    testBadAddress,
		"limits":         testLimits,
	} {
		t.Run(name, func(t *testing.T) { test(t, env(t)) })
	}
}

// bodyOf returns the body of frame i of a priority, different for each.
func bodyOf(p fabric.Priority, i, size int) []byte {
	body := make([]byte, size)
	const period = 251 // no divisor of anything
	for j := range min(size, period) {
		body[j] = byte(int(p)*97 + i*31 + j)
	}
	for n := period; n < size; n *= 2 {
		copy(body[n:], body[:n])
	}
	return body
}

// testOrder sends frames of random sizes both ways at once.
func testOrder(t *testing.T, env Env) {
	client, server := &side{}, &side{}
	here, there := pair(t, env, client, server)
	random := rand.New(rand.NewPCG(1, 2))
	var sizes [2][]int
	const frames = 300
	for i := range frames {
		p := random.IntN(2)
		size := random.IntN(200)
		switch {
		case i%40 == 39:
			size = random.IntN(fabric.MaxControl + 1)
		case i%10 == 9:
			size = random.IntN(20_000)
		case i == 200 && p == int(fabric.Bulk):
			size = fabric.MaxBulk
		}
		h := fabric.Header{Type: uint8(p), Step: uint64(len(sizes[p])), Epoch: 1 << 63, Aux: 7, Flags: 3, Bucket: 1 << 31, Chunk: 9}
		body := bodyOf(fabric.Priority(p), len(sizes[p]), size)
		sizes[p] = append(sizes[p], size)
		here.Send(fabric.Priority(p), h, body, nil)
		there.Send(fabric.Priority(p), h, body, nil)
	}
	if !env.Wait(server.has(frames)) || !env.Wait(client.has(frames)) {
		t.Fatalf("%d and %d of %d frames came", len(server.frames), len(client.frames), frames)
	}
	for name, s := range map[string]*side{"server": server, "client": client} {
		var next [2]int
		for i, h := range s.frames {
			p, n := int(h.Type), next[h.Type]
			want := fabric.Header{Type: h.Type, Step: uint64(n), Epoch: 1 << 63, Aux: 7, Flags: 3, Bucket: 1 << 31, Chunk: 9, Length: uint32(sizes[p][n])}
			if h != want {
				t.Fatalf("%s: got %+v, want %+v", name, h, want)
			}
			if !bytes.Equal(s.bodies[i], bodyOf(fabric.Priority(p), n, sizes[p][n])) {
				t.Fatalf("%s: the body of frame %d of priority %d is wrong", name, n, p)
			}
			next[p]++
		}
	}
	sent, received := here.Stats(), there.Stats()
	if !env.Wait(func() bool {
		sent, received = here.Stats(), there.Stats()
		return sent.BytesSent == received.BytesReceived
	}) {
		t.Errorf("sent %+v, received %+v", sent, received)
	}
	if sent.Queued != 0 || sent.FramesSent < frames {
		t.Errorf("sent %+v", sent)
	}
}

// testDone checks that done comes once for each frame, never within Send, with
// the body free to change.
func testDone(t *testing.T, env Env) {
	client, server := &side{}, &side{}
	here, _ := pair(t, env, client, server)
	var inSend sync.Mutex // done would wait for it for ever
	var done count
	const frames = 100
	buffer := make([]byte, 50_000)
	for i := range frames {
		size := []int{10, 1000, 50_000}[i%3]
		sent := i
		body := buffer[:size]
		for j := range body {
			body[j] = byte(i)
		}
		inSend.Lock()
		here.Send(fabric.Priority(i%2), fabric.Header{Step: uint64(i)}, body, func(err error) {
			inSend.Lock()
			defer inSend.Unlock()
			if err != nil {
				t.Errorf("frame %d: %v", sent, err)
			}
			done.add()
		})
		inSend.Unlock()
		if !env.Wait(done.is(i + 1)) {
			t.Fatalf("frame %d is not done", i)
		}
	}
	if !env.Wait(server.has(frames)) {
		t.Fatal("frames are missing")
	}
	for i, h := range server.frames {
		if body := server.bodies[i]; body[0] != byte(h.Step) || body[len(body)-1] != byte(h.Step) {
			t.Fatalf("frame %d was changed after it was done", h.Step)
		}
	}
	if done.get() != frames {
		t.Errorf("%d done calls for %d frames", done.get(), frames)
	}
}

// testCredit fills the window of a receiver that holds on to all it gets.
func testCredit(t *testing.T, env Env) {
	const size = 1 << 20
	client, server := &side{}, &side{}
	held := 0
	server.frame = func(c fabric.Conn, h fabric.Header) error {
		if h.Type == 1 {
			c.Hold(size)
			held++
		}
		return nil
	}
	server.room = func(h fabric.Header) ([]byte, error) { return make([]byte, h.Length), nil }
	here, there := pair(t, env, client, server)
	var done count
	body := make([]byte, size)
	const frames = 20
	for range frames {
		here.Send(fabric.Bulk, fabric.Header{Type: 1}, body, func(err error) {
			if err == nil {
				done.add()
			}
		})
	}
	window := 7 // frames of 1 MiB with their headers in a window of 8 MiB
	if !env.Wait(server.has(window)) {
		t.Fatalf("%d frames came", len(server.frames))
	}
	for i := range 50 { // control goes on
		here.Send(fabric.Control, fabric.Header{Type: 2, Step: uint64(i)}, nil, nil)
		if !env.Wait(server.has(window + i + 1)) {
			t.Fatal("control frames wait for credit")
		}
	}
	if done.get() != window || held != window {
		t.Fatalf("%d frames left and %d came, with credit for %d", done.get(), held, window)
	}
	for released := 0; released < frames; released++ {
		if !env.Wait(server.has(min(frames, released+1) + 50)) {
			t.Fatalf("nothing came after %d releases", released)
		}
		there.Release(size)
	}
	if !env.Wait(done.is(frames)) || !env.Wait(server.has(frames+50)) {
		t.Fatalf("%d of %d frames left, %d came", done.get(), frames, len(server.frames)-50)
	}
	there.Release(1)
	if !env.Wait(server.isClosed) || !env.Wait(client.isClosed) {
		t.Fatal("more was released than held, and nothing happened")
	}
}

// testEarly sends before the connection stands.
func testEarly(t *testing.T, env Env) {
	client, server := &side{t: t}, &side{t: t}
	l, err := env.Server.Listen(env.Addr(), func(c fabric.Conn) (fabric.Handler, error) {
		c.Send(fabric.Control, fabric.Header{Step: 1}, nil, nil) // from within accept
		return server, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := env.Client.Dial(l.Addr(), client)
	for i := range 10 {
		c.Send(fabric.Control, fabric.Header{Step: uint64(i)}, []byte{byte(i)}, nil)
	}
	if !env.Wait(server.has(10)) || !env.Wait(client.has(1)) {
		t.Fatalf("%d frames came, %d back", len(server.frames), len(client.frames))
	}
	for i, h := range server.frames {
		if h.Step != uint64(i) {
			t.Fatalf("frame %d came as number %d", h.Step, i)
		}
	}
}

// testClose closes one end with frames in the queue.
func testClose(t *testing.T, env Env) {
	client, server := &side{}, &side{}
	server.frame = func(c fabric.Conn, h fabric.Header) error { c.Hold(int(h.Length)); return nil }
	here, there := pair(t, env, client, server)
	var done, failed count
	reason := errors.New("enough")
	const frames = 12
	finish := func(err error) {
		if client.isClosed() {
			t.Error("a done call after Closed")
		}
		switch {
		case err == nil:
			done.add()
		case errors.Is(err, reason):
			failed.add()
		default:
			t.Errorf("done with %v", err)
		}
	}
	body := make([]byte, 1<<20)
	for range frames {
		here.Send(fabric.Bulk, fabric.Header{}, body, finish)
	}
	if !env.Wait(done.is(7)) || !env.Wait(server.has(7)) {
		t.Fatal("nothing is sent")
	}
	here.Close(reason)
	here.Close(nil)
	if !env.Wait(client.isClosed) || !env.Wait(server.isClosed) {
		t.Fatal("one end is not closed")
	}
	if err := client.why(); err != reason {
		t.Errorf("closed here with %v", err)
	}
	if err := server.why(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("closed there with %v", err)
	}
	if done.get()+failed.get() != frames || failed.get() == 0 {
		t.Errorf("%d frames done and %d failed of %d", done.get(), failed.get(), frames)
	}
	var late count
	for _, c := range []fabric.Conn{here, there} {
		c.Send(fabric.Control, fabric.Header{}, nil, func(err error) {
			if err != nil {
				late.add()
			}
		})
	}
	if !env.Wait(late.is(2)) {
		t.Error("frames after the end are not refused")
	}
}

// testHandlerErrors lets each callback of a handler fail.
func testHandlerErrors(t *testing.T, env Env) {
	reason := errors.New("no")
	for i, server := range []*side{
		{room: func(fabric.Header) ([]byte, error) { return nil, reason }},
		{frame: func(fabric.Conn, fabric.Header) error { return reason }},
		{room: func(h fabric.Header) ([]byte, error) { return make([]byte, h.Length+1), nil }},
	} {
		client := &side{}
		here, _ := pair(t, env, client, server)
		here.Send(fabric.Control, fabric.Header{}, []byte("x"), nil)
		if !env.Wait(server.isClosed) || !env.Wait(client.isClosed) {
			t.Fatalf("%d: not closed", i)
		}
		if err := server.why(); i < 2 && err != reason || err == nil {
			t.Errorf("%d: closed with %v", i, err)
		}
	}
}

// testRefuse refuses a peer.
func testRefuse(t *testing.T, env Env) {
	client := &side{t: t}
	var asked count
	l, err := env.Server.Listen(env.Addr(), func(c fabric.Conn) (fabric.Handler, error) {
		asked.add()
		if c.Peer() != "client" {
			t.Errorf("asked about %q", c.Peer())
		}
		return nil, errors.New("not you")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	env.Client.Dial(l.Addr(), client)
	if !env.Wait(client.isClosed) || asked.get() != 1 {
		t.Errorf("asked %d times, closed: %v", asked.get(), client.isClosed())
	}
}

// testNobody dials where nobody listens.
func testNobody(t *testing.T, env Env) {
	client := &side{t: t}
	c := env.Client.Dial(env.Nobody, client)
	var failed count
	c.Send(fabric.Control, fabric.Header{}, nil, func(err error) {
		if err != nil {
			failed.add()
		}
	})
	if !env.Wait(client.isClosed) || !env.Wait(failed.is(1)) {
		t.Fatal("the dial did not fail")
	}
	if err := client.why(); !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) {
		t.Errorf("failed with %v", err)
	}
}

// testBadAddress uses what is no address.
func testBadAddress(t *testing.T, env Env) {
	for _, addr := range []string{"", "tcp", "http:x", "tcp:1", "unix:", "sim:"} {
		client := &side{t: t}
		env.Client.Dial(addr, client)
		if !env.Wait(client.isClosed) {
			t.Fatalf("%q: the dial did not fail", addr)
		}
		_, err := env.Server.Listen(addr, nil)
		var bad *fabric.AddressError
		for _, err := range []error{client.why(), err} {
			if !errors.As(err, &bad) || bad.Addr != addr {
				t.Errorf("%q: %v", addr, err)
			}
		}
	}
}

// testLimits sends bodies at the limit and over it.
func testLimits(t *testing.T, env Env) {
	for _, p := range []fabric.Priority{fabric.Control, fabric.Bulk} {
		client, server := &side{}, &side{}
		here, _ := pair(t, env, client, server)
		here.Send(p, fabric.Header{}, make([]byte, p.Limit()), nil)
		if !env.Wait(server.has(1)) || len(server.bodies[0]) != p.Limit() {
			t.Fatalf("%v: nothing came", p)
		}
		var failed count
		here.Send(p, fabric.Header{}, make([]byte, p.Limit()+1), func(err error) {
			if err != nil {
				failed.add()
			}
		})
		if !env.Wait(client.isClosed) || !env.Wait(failed.is(1)) {
			t.Fatalf("%v: not closed", p)
		}
		var limit *fabric.LimitError
		if err := client.why(); !errors.As(err, &limit) || limit.Priority != p || limit.Length != p.Limit()+1 {
			t.Errorf("%v: closed with %v", p, err)
		}
	}
}
