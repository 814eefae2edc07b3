package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"millrace.dev/fabric"
	"millrace.dev/group"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// client is the other end of a session.
type client struct {
	t *testing.T
	c *net.UnixConn
	g []float32

	state []byte // that was restored
}

// dial connects a pair of sockets: the agent's end, and the client's.
func dial(t testing.TB) (*net.UnixConn, *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unixpacket"})
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		t.Skip("no sockets of packets here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := net.DialUnix("unixpacket", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return theirs, ours
}

func (c *client) say(r request) {
	c.t.Helper()
	packet, err := json.Marshal(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.c.Write(packet); err != nil {
		c.t.Fatal(err)
	}
}

// hear returns the next answer, which must be of the type.
func (c *client) hear(kind string) answer {
	c.t.Helper()
	a := c.next()
	if a.Type != kind {
		c.t.Fatalf("heard %+v, not %s", a, kind)
	}
	return a
}

// next returns the next answer; a file is mapped as the gradients.
func (c *client) next() answer {
	c.t.Helper()
	packet, rights := make([]byte, maxMessage), make([]byte, 256)
	n, oob, _, _, err := c.c.ReadMsgUnix(packet, rights)
	if err != nil {
		c.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(packet[:n], &a); err != nil {
		c.t.Fatal(err)
	}
	f, err := oneFile(rights[:oob])
	if err != nil {
		c.t.Fatal(err)
	}
	if f != nil && a.Type == "started" {
		mem, err := unix.Mmap(int(f.Fd()), 0, 4*a.Elements, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { unix.Munmap(mem) }) //nolint:errcheck // the test is over
		c.g = unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), a.Elements)
	}
	if a.Type == "restore" {
		c.state = make([]byte, a.Size)
		if _, err := f.ReadAt(c.state, 0); err != nil {
			c.t.Fatal(err)
		}
	}
	closeFile(f)
	return a
}

// crew is sessions of one group.
type crew struct {
	clients  []*client
	sessions []*Session
	ended    []chan error
}

func newCrew(t *testing.T, n int) *crew {
	t.Helper()
	dir := t.TempDir()
	var founders []group.Member
	for i := range n {
		founders = append(founders, group.Member{
			ID: group.NewID(), Name: fmt.Sprintf("w%d", i), Addr: "unix:" + filepath.Join(dir, fmt.Sprint(i)), Host: "here",
		})
	}
	c := &crew{}
	for i := range n {
		network, err := fabric.NewSockets(fabric.Options{Name: founders[i].Name})
		if err != nil {
			t.Fatal(err)
		}
		theirs, ours := dial(t)
		s := NewSession(theirs, group.Config{Group: "test", Self: founders[i], Founders: founders, Network: network})
		ended := make(chan error, 1)
		var running sync.WaitGroup
		running.Go(func() { ended <- s.Run(context.Background()) })
		t.Cleanup(func() { ours.Close(); running.Wait(); network.Close() })
		c.clients = append(c.clients, &client{t: t, c: ours})
		c.sessions = append(c.sessions, s)
		c.ended = append(c.ended, ended)
	}
	return c
}

func (c *crew) each(f func(i int, c *client)) {
	for i, x := range c.clients {
		f(i, x)
	}
}

const elements = 10_000

func (c *crew) hello(t *testing.T) {
	t.Helper()
	c.each(func(_ int, x *client) {
		x.say(request{Type: "tensors", Tensors: []tensor{{"a", 0, 100}, {"b", 100, elements}}})
		x.say(request{Type: "hello", Version: Version, Elements: elements})
	})
	c.each(func(i int, x *client) {
		if a := x.hear("started"); a.Version != Version || a.Elements != elements || a.Name != fmt.Sprintf("w%d", i) || len(x.g) != elements {
			t.Fatalf("started: %+v", a)
		}
	})
}

// needsMemory skips a test where the system has no files of memory.
func needsMemory(t *testing.T) {
	f, err := newMemory(1)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no files of memory here")
	}
	closeFile(f)
}

func TestSteps(t *testing.T) {
	needsMemory(t)
	c := newCrew(t, 3)
	c.hello(t)
	for step := uint64(1); step <= 5; step++ {
		c.each(func(_ int, x *client) { x.say(request{Type: "begin"}) })
		c.each(func(i int, x *client) {
			if a := x.hear("step"); a.Step != step || len(a.Members) != 3 {
				t.Fatalf("%+v", a)
			}
			for j := range x.g {
				x.g[j] = float32(i + j)
			}
			if step > 1 { // the first half early
				x.say(request{Type: "ready", Lo: 0, Hi: elements / 2, Samples: 2})
			}
			x.say(request{Type: "commit", Samples: 2, Loss: float64(i)})
		})
		c.each(func(_ int, x *client) {
			a := x.hear("result")
			if a.Step != step || a.Outcome != "apply" || a.Weight != 6 || a.Loss != 1 {
				t.Fatalf("%+v", a)
			}
			for j, g := range x.g {
				if diff := g - float32(j+1); diff > 0.01 || diff < -0.01 {
					t.Fatalf("mean of element %d is %v", j, g)
				}
			}
		})
	}
	c.clients[0].say(request{Type: "status"})
	if a := c.clients[0].hear("status"); !strings.Contains(a.Text, "step 6") {
		t.Fatalf("status: %+v", a)
	}
	c.each(func(_ int, x *client) { x.say(request{Type: "bye"}) })
	for i, ended := range c.ended {
		if err := <-ended; err != nil {
			t.Errorf("session %d: %v", i, err)
		}
	}
}

// TestDeath ends a client in the midst of a step: the others go on with what they have.
func TestDeath(t *testing.T) {
	needsMemory(t)
	c := newCrew(t, 3)
	c.hello(t)
	c.each(func(_ int, x *client) { x.say(request{Type: "begin"}) })
	c.each(func(_ int, x *client) {
		x.hear("step")
		x.say(request{Type: "commit", Samples: 1})
	})
	c.each(func(_ int, x *client) { x.hear("result") }) // now each has met the others: one that never came is waited for
	c.each(func(_ int, x *client) { x.say(request{Type: "begin"}) })
	c.each(func(i int, x *client) {
		x.hear("step")
		for j := range x.g {
			x.g[j] = float32(i)
		}
		if i != 1 {
			x.say(request{Type: "commit", Samples: 1})
		}
	})
	c.clients[1].c.Close()
	for _, i := range []int{0, 2} {
		a := c.clients[i].hear("result")
		if a.Outcome != "apply" || a.Weight != 2 || len(a.Members) != 2 || c.clients[i].g[7] != 1 {
			t.Fatalf("%+v, mean %v", a, c.clients[i].g[7])
		}
	}
	if err := <-c.ended[1]; !errors.Is(err, io.EOF) {
		t.Errorf("the session of the dead: %v", err)
	}
}

// TestBroadcast makes the parameters of all clients those of the first.
func TestBroadcast(t *testing.T) {
	needsMemory(t)
	c := newCrew(t, 3)
	c.hello(t)
	c.each(func(i int, x *client) {
		for j := range x.g {
			x.g[j] = float32(100*i + j)
		}
		x.say(request{Type: "broadcast"})
	})
	c.each(func(_ int, x *client) {
		x.hear("broadcast")
		for j, g := range x.g {
			if g != float32(j) {
				t.Fatalf("parameter %d is %v", j, g)
			}
		}
	})
	c.clients[0].say(request{Type: "begin"})
	c.clients[0].hear("step")
	c.clients[0].say(request{Type: "broadcast"})
	if a := c.clients[0].hear("error"); a.Kind != "protocol" {
		t.Fatalf("%+v", a)
	}
}

func TestLeave(t *testing.T) {
	needsMemory(t)
	c := newCrew(t, 2)
	c.sessions[1].Leave() // before there is a worker
	c.hello(t)
	var all sync.WaitGroup
	for i, x := range c.clients {
		all.Go(func() {
			for step := 1; ; step++ {
				x.say(request{Type: "begin"})
				if i == 1 && x.next().Type == "left" || i == 0 && step > 5 {
					return
				}
				if i == 0 {
					x.hear("step")
				}
				x.say(request{Type: "commit", Samples: 1})
				// A step that began before the others had let it go may be void.
				if a := x.hear("result"); i == 0 && a.Outcome != "apply" {
					t.Errorf("%+v", a)
				}
			}
		})
	}
	all.Wait()
}

// TestProtocol says what a client must not.
func TestProtocol(t *testing.T) {
	needsMemory(t)
	hello := request{Type: "hello", Version: Version, Elements: 10}
	for name, c := range map[string]struct {
		packets []any
		want    string
	}{
		"no JSON":         {[]any{"{"}, "cannot be read"},
		"too long":        {[]any{strings.Repeat(" ", maxMessage+1)}, "longer than"},
		"no hello":        {[]any{request{Type: "begin"}}, `"begin" before hello`},
		"old version":     {[]any{request{Type: "hello", Elements: 10}}, "version"},
		"no elements":     {[]any{request{Type: "hello", Version: Version}}, "0 elements"},
		"huge":            {[]any{request{Type: "hello", Version: Version, Elements: maxElements + 1}}, "elements"},
		"half a data set": {[]any{request{Type: "hello", Version: Version, Elements: 10, Batch: 5}}, "epoch of 0"},
		"a far tensor": {[]any{request{Type: "tensors", Tensors: []tensor{{"t", 5, 11}}}, hello},
			`tensor "t" has the elements 5 to 11 of 10`},
		"two hellos":       {[]any{hello, hello}, `"hello" is no message`},
		"early commit":     {[]any{hello, request{Type: "commit"}}, "commit without a step"},
		"early ready":      {[]any{hello, request{Type: "ready", Hi: 5}}, "ready without a step"},
		"two begins":       {[]any{hello, request{Type: "begin"}, request{Type: "begin"}}, "before the commit"},
		"ready far":        {[]any{hello, request{Type: "begin"}, request{Type: "ready", Lo: 5, Hi: 11}}, "5 to 11"},
		"ready backwards":  {[]any{hello, request{Type: "begin"}, request{Type: "ready", Lo: 5, Hi: 4}}, "5 to 4"},
		"nobody asked":     {[]any{hello, request{Type: "saved", Size: 5}}, `"saved" is no message`},
		"unknown messages": {[]any{hello, request{Type: "dance"}}, `"dance" is no message`},
	} {
		t.Run(name, func(t *testing.T) {
			crew := newCrew(t, 1)
			x := crew.clients[0]
			for _, p := range c.packets {
				text, raw := p.(string)
				if !raw {
					x.say(p.(request))
				} else if _, err := x.c.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			for {
				packet := make([]byte, maxMessage)
				n, err := x.c.Read(packet)
				if errors.Is(err, unix.ECONNRESET) {
					continue // the agent did not read all; its last word is behind that
				}
				if err != nil {
					t.Fatalf("the agent ended without a word: %v", err)
				}
				var a answer
				if err := json.Unmarshal(packet[:n], &a); err != nil {
					t.Fatal(err)
				}
				if a.Type != "error" {
					continue
				}
				if a.Kind != "protocol" || !strings.Contains(a.Text, c.want) {
					t.Fatalf("%+v, want %q", a, c.want)
				}
				break
			}
			var broken *ProtocolError
			if err := <-crew.ended[0]; !errors.As(err, &broken) {
				t.Fatal(err)
			}
		})
	}
}

// TestSavedMemory checks what a client gives for its state.
func TestSavedMemory(t *testing.T) {
	needsMemory(t)
	f, err := newMemory(100)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := checkSaved(f, 100); err != nil {
		t.Error(err)
	}
	pipe, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer other.Close()
	for name, c := range map[string]struct {
		f    *os.File
		size int64
	}{"none": {nil, 5}, "short": {f, 101}, "negative": {f, -1}, "a pipe": {pipe, 0}, "huge": {f, maxState + 1}} {
		if err := checkSaved(c.f, c.size); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzSession throws packets at a session: it ends with an error or waits, and does not crash.
func FuzzSession(f *testing.F) {
	f.Add([]byte(`{"type":"hello","version":1,"elements":10}` + "\n" + `{"type":"begin"}` + "\n" + `{"type":"commit","samples":1}`))
	f.Add([]byte(`{"type":"tensors","tensors":[{"name":"a","lo":0,"hi":10}]}` + "\n" + `{"type":"hello","version":1,"elements":99}` + "\n" + `{"type":"begin"}` + "\n" + `{"type":"ready","lo":3,"hi":9,"samples":1}`))
	f.Add([]byte(`{"type":"hello","version":1,"elements":10,"epoch_samples":5,"batch":2,"state":true}` + "\n" + `{"type":"leave"}` + "\n" + `{"type":"begin"}`))
	f.Add([]byte(`{"type":"bye"}`))
	f.Fuzz(func(t *testing.T, packets []byte) {
		theirs, ours := dial(t)
		network, err := fabric.NewSockets(fabric.Options{Name: "w"})
		if err != nil {
			t.Fatal(err)
		}
		defer network.Close()
		self := group.Member{ID: 7, Name: "w", Addr: "unix:" + filepath.Join(t.TempDir(), "w"), Host: "here"}
		s := NewSession(theirs, group.Config{Group: "test", Self: self, Founders: []group.Member{self}, Network: network})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		ended := make(chan struct{})
		go func() { defer close(ended); _ = s.Run(ctx) }()
		go io.Copy(io.Discard, ours) //nolint:errcheck // ends with the connection
		for packet := range strings.SplitSeq(string(packets), "\n") {
			if bounded(packet) {
				_, _ = ours.Write([]byte(packet)) // the session may have ended
			}
		}
		ours.Close()
		<-ended
	})
}

// bounded leaves out what asks for much memory, as a client of the same user may.
func bounded(packet string) bool {
	r, err := parse([]byte(packet))
	return len(packet) > 0 && (err != nil || r.Elements < 1<<20)
}

// TestStateGoesToNewcomers lets a client join another one.
func TestStateGoesToNewcomers(t *testing.T) {
	needsMemory(t)
	c := newCrew(t, 1)
	old := c.clients[0]
	hello := request{Type: "hello", Version: Version, Elements: elements, State: true}
	old.say(hello)
	old.hear("started")

	network, err := fabric.NewSockets(fabric.Options{Name: "late"})
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := dial(t)
	self := group.Member{Name: "late", Addr: "unix:" + filepath.Join(t.TempDir(), "late"), Host: "here"}
	s := NewSession(theirs, group.Config{
		Group: "test", Self: self, Join: []string{c.sessions[0].config.Self.Addr}, Network: network,
	})
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(context.Background()) })
	t.Cleanup(func() { ours.Close(); running.Wait(); network.Close() })
	late := &client{t: t, c: ours}
	late.say(hello)
	late.hear("started")

	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() { // the state of the old one is the number of the last step, many times
		for step := uint64(0); ; step++ {
			old.say(request{Type: "begin"})
			if a := old.tell("step", step); a.Step != step+1 {
				t.Errorf("step %d after %d", a.Step, step)
			}
			old.say(request{Type: "commit", Samples: 1})
			if a := old.tell("result", step); a.Outcome != "apply" {
				t.Errorf("%+v", a)
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	late.say(request{Type: "begin"})
	restored := late.next()
	if restored.Type != "restore" || restored.Size != stateBytes {
		t.Fatalf("%+v", restored)
	}
	for i, b := range late.state {
		if b != byte(restored.Step) {
			t.Fatalf("byte %d of the state is %d after step %d", i, b, restored.Step)
		}
	}
	late.say(request{Type: "restored"})
	for step, together := restored.Step+1, false; ; step++ { // it catches up, takes part, and leaves
		a := late.next()
		if a.Type == "left" {
			break
		}
		if a.Type != "step" || a.Step != step {
			t.Fatalf("%+v, want step %d", a, step)
		}
		late.say(request{Type: "commit", Samples: 1})
		if a := late.hear("result"); a.Weight == 2 && len(a.Members) == 2 && !together {
			together = true
			late.say(request{Type: "leave"})
		}
		late.say(request{Type: "begin"})
	}
	close(over)
	all.Wait()
}

const stateBytes = 100_000

// tell waits for an answer and gives the state after a step meanwhile.
func (c *client) tell(kind string, step uint64) answer {
	for {
		a := c.next()
		if a.Type == kind {
			return a
		}
		f, err := newMemory(stateBytes)
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte{byte(step)}, stateBytes), 0)
		}
		if a.Type != "save" || err != nil {
			c.t.Fatalf("heard %+v, not %s or save (%v)", a, kind, err)
		}
		packet, err := json.Marshal(request{Type: "saved", Size: stateBytes})
		if err != nil {
			c.t.Fatal(err)
		}
		if _, _, err := c.c.WriteMsgUnix(packet, unix.UnixRights(int(f.Fd())), nil); err != nil {
			c.t.Fatal(err)
		}
		closeFile(f)
	}
}
