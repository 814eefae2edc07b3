package group

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/collective"
	"millrace.dev/group/reduce"
)

// recorder is a reducer that notes what it is told.
type recorder struct {
	body   []byte
	frames []uint64 // steps
	closed []int
}

func (r *recorder) Algorithm() reduce.Algorithm                     { return reduce.Ring }
func (r *recorder) Begin(uint64, uint64, func(reduce.Facts, error)) {}
func (r *recorder) Ready(int, int)                                  {}
func (r *recorder) Body(int, fabric.Header) ([]byte, error)         { return r.body, nil }
func (r *recorder) Frame(_ int, h fabric.Header, body []byte) error {
	r.frames = append(r.frames, h.Step)
	return nil
}
func (r *recorder) Closed(from int)        { r.closed = append(r.closed, from) }
func (r *recorder) Cancel(error)           {}
func (r *recorder) Waiting() (int, string) { return -1, "" }

func testPlane(t *testing.T, epoch uint64) (*plane, *recorder) {
	t.Helper()
	r := &recorder{body: make([]byte, 8)}
	engine, err := collective.New(collective.Config{Epoch: epoch, Rank: 0, Size: 2, Clock: fabric.System,
		Send: func(int, fabric.Priority, fabric.Header, []byte, func(error)) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &plane{epoch: epoch, ranks: map[ID]int{7: 0, 8: 1}, reducer: r, engine: engine, release: func() error { return nil }}, r
}

// testLink is a link to member 8 of a worker whose loop takes part in nothing.
func testLink(t *testing.T) (*Worker, *link) {
	t.Helper()
	network := &nets{}
	w, err := Start(context.Background(), Config{
		Group: t.Name(), Self: Member{ID: 7, Name: "self", Addr: "unix:/self"}, Join: []string{"unix:/nobody"}, Network: network,
		Elements: 16, State: newToy(16),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() }) //nolint:errcheck // the test is over
	l := &link{w: w, conn: &sink{}}
	l.peer.Store(&hello{From: Member{ID: 8}})
	return w, l
}

// TestEarlyFramesWait: frames of an epoch that is not in force wait for it, in order, and those of an earlier
// one are dropped.
func TestEarlyFramesWait(t *testing.T) {
	w, l := testLink(t)
	send := func(epoch, step uint64, length uint32) {
		t.Helper()
		h := fabric.Header{Type: reduce.FirstType, Epoch: epoch, Step: step, Length: length}
		var body []byte
		if length > 0 {
			var err error
			if body, err = l.Body(l.conn, h); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Frame(l.conn, h, body); err != nil {
			t.Fatal(err)
		}
	}
	two, was := testPlane(t, 2)
	w.plane.Store(two)
	send(2, 1, 8)
	send(3, 2, 8)
	send(3, 3, 0)
	send(1, 9, 8)
	send(1, 9, 0)
	send(2, 4, 0)
	three, is := testPlane(t, 3)
	w.plane.Store(three)
	send(3, 5, 8) // comes before the loop has flushed
	if err := l.flush(three); err != nil {
		t.Fatal(err)
	}
	send(2, 9, 8)
	send(3, 6, 0)
	if !slices.Equal(was.frames, []uint64{1, 4}) || !slices.Equal(is.frames, []uint64{2, 3, 5, 6}) {
		t.Errorf("view 2 got %v, view 3 %v", was.frames, is.frames)
	}
	if n := w.stale.Load(); n != 3 {
		t.Errorf("%d stale frames", n)
	}
}

// TestClosedTellsThePlaneOfTheBody: the end of a connection in the middle of a body is told to the plane
// that waits for the rest, though another has come into force.
func TestClosedTellsThePlaneOfTheBody(t *testing.T) {
	w, l := testLink(t)
	two, was := testPlane(t, 2)
	w.plane.Store(two)
	if _, err := l.Body(l.conn, fabric.Header{Type: reduce.FirstType, Epoch: 2, Length: 8}); err != nil {
		t.Fatal(err)
	}
	three, is := testPlane(t, 3)
	w.plane.Store(three)
	l.used.Store(true)
	l.Closed(l.conn, io.ErrUnexpectedEOF)
	if !slices.Equal(was.closed, []int{1}) || !slices.Equal(is.closed, []int{1}) {
		t.Errorf("view 2 heard of %v, view 3 of %v", was.closed, is.closed)
	}
}

// TestSilenceIsOfOneClock: whether a member was silent for long does not depend on the machine's clock, which may be
// set at any time. A time with a reading of the process's own clock differs from itself without it.
func TestSilenceIsOfOneClock(t *testing.T) {
	_, l := testLink(t)
	now := time.Now()
	l.hear(now)
	m := &mesh{links: map[ID][]*link{8: {l}}}
	at := m.heard(8)
	if at == at.Round(0) || !at.Equal(now) {
		t.Errorf("it was heard at %v, not %v", at, now)
	}
}

// TestControlFramesAreBounded: while the loop is at something else a member cannot fill the memory with control frames,
// not even with empty ones.
func TestControlFramesAreBounded(t *testing.T) {
	for _, length := range []uint32{0, 1000, fabric.MaxControl} {
		w, l := testLink(t)
		busy, goOn := make(chan struct{}), make(chan struct{})
		w.post(func(*loop) { close(busy); <-goOn })
		<-busy
		h := fabric.Header{Type: typeMessage, Epoch: 1, Length: length}
		taken := 0
		var err error
		for ; err == nil && taken < 2*maxPending; taken += fabric.HeaderSize + int(length) {
			var body []byte
			if length > 0 {
				if body, err = l.Body(l.conn, h); err != nil {
					break
				}
			}
			err = l.Frame(l.conn, h, body)
		}
		close(goOn)
		if err == nil || taken < maxPending/2 || taken > maxPending+fabric.HeaderSize+int(length) {
			t.Errorf("frames of %d bytes: %d bytes are kept, then %v", length, taken, err)
		}
	}
}

// TestHellos: a connection is heard once it has said, once, that it is of this group or a visitor.
func TestHellos(t *testing.T) {
	w, _ := testLink(t)
	say := func(l *link, kind uint8, text string) error {
		h := fabric.Header{Type: kind, Length: uint32(len(text))}
		body, err := l.Body(l.conn, h)
		if err != nil {
			return err
		}
		copy(body, text)
		return l.Frame(l.conn, h, body)
	}
	ours := `{"Group": "` + w.config.Group + `", "From": {"ID": 8, "Name": "peer"}}`
	for _, c := range []struct {
		name  string
		said  []string
		wrong string // part of the error of the last; empty: none
	}{
		{"a member", []string{ours}, ""},
		{"a visitor of whatever group", []string{`{"Visitor": true}`}, ""},
		{"another group's", []string{`{"Group": "other", "From": {"ID": 8, "Name": "peer"}}`}, `it belongs to the group "other", not "` + w.config.Group},
		{"no hello", []string{"hello"}, "cannot be read"},
		{"two", []string{ours, ours}, "a second hello"},
	} {
		l := &link{w: w, conn: &sink{}}
		if err := say(l, typeMessage, "x"); err == nil || !strings.Contains(err.Error(), "no hello") {
			t.Errorf("%s: before it says who it is: %v", c.name, err)
		}
		var err error
		for _, text := range c.said {
			err = say(l, typeHello, text)
		}
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if heard := l.peer.Load() != nil; heard != (c.wrong == "" || len(c.said) == 2) {
			t.Errorf("%s: heard: %t", c.name, heard)
		}
	}
}

// holding is a connection that counts what is held.
type holding struct {
	sink
	held int
}

func (h *holding) Hold(n int)    { h.held += n }
func (h *holding) Release(n int) { h.held -= n }

// TestEarlyFramesAreBounded: what is kept for an epoch that does not begin holds its credit back, and is not endless
// where it needs none.
func TestEarlyFramesAreBounded(t *testing.T) {
	w, l := testLink(t)
	two, _ := testPlane(t, 2)
	w.plane.Store(two)
	c := &holding{}
	l.conn = c
	var err error
	kept := 0
	for ; err == nil && kept < 2*maxEarly; kept++ {
		h := fabric.Header{Type: reduce.FirstType, Epoch: 3, Length: uint32(kept % 2 * 8)}
		var body []byte
		if h.Length > 0 {
			if body, err = l.Body(c, h); err != nil {
				break
			}
		}
		err = l.Frame(c, h, body)
	}
	if err == nil || kept != maxEarly+1 || c.held < maxEarly/2*8 {
		t.Fatalf("%d frames came, %d bytes are held, then %v", kept, c.held, err)
	}
	three, is := testPlane(t, 3)
	w.plane.Store(three)
	c.held = maxEarly / 2 * 8 // what the refused one had went with its connection
	if err := l.flush(three); err != nil || c.held != 0 || len(is.frames) != maxEarly {
		t.Errorf("%d frames are delivered, %d bytes are held, %v", len(is.frames), c.held, err)
	}
}
