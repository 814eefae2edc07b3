package fabric

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// stranger speaks to a listener in raw bytes.
type stranger struct {
	net.Conn
	t     testing.TB
	nonce uint32 // of the listener
	n     uint64 // frames so far
}

// intrude connects to a listener, without a hello.
func intrude(t testing.TB, addr string) *stranger {
	t.Helper()
	network, address, _ := strings.Cut(addr, ":")
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &stranger{Conn: c, t: t}
}

// greet exchanges the hellos.
func (s *stranger) greet() *stranger {
	s.t.Helper()
	s.Write(append(rawHeader(classHello, Header{Epoch: 5, Aux: defaultWindow, Length: 1}, 0), 'x'))
	head := make([]byte, HeaderSize)
	if _, err := io.ReadFull(s, head); err != nil {
		s.t.Fatal(err)
	}
	_, h, err := parseHeader(head, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	io.ReadFull(s, make([]byte, h.Length))
	s.nonce, s.n = uint32(h.Epoch), 1
	return s
}

// frame returns the bytes of the next frame.
func (s *stranger) frame(c class, h Header, body []byte) []byte {
	b := append(rawHeader(c, h, seal(s.nonce, s.n)), body...)
	s.n++
	return b
}

func rawHeader(c class, h Header, sealed uint32) []byte {
	b := make([]byte, HeaderSize)
	putHeader(b, c, &h, sealed)
	return b
}

// gone waits until the listener has dropped the connection.
func (s *stranger) gone() {
	s.t.Helper()
	s.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, s); errors.Is(err, error(errTimeout)) {
		s.t.Fatal("the connection is still there")
	}
}

var errTimeout = errors.New("")

func init() {
	c, _ := net.Pipe()
	c.SetReadDeadline(time.Unix(1, 0))
	_, errTimeout = c.Read(make([]byte, 1))
}

// guarded is a recorder that fails if more is asked of it than the limits allow.
type guarded struct {
	*recorder
	t testing.TB
}

func (g guarded) Body(c Conn, h Header) ([]byte, error) {
	if h.Length > MaxBulk {
		g.t.Errorf("room for %d bytes is asked", h.Length)
	}
	return g.recorder.Body(c, h)
}

// listen listens on a Unix socket and counts whom it accepts.
func listen(t testing.TB, s *Sockets, r *recorder) string {
	t.Helper()
	l, err := s.Listen("unix:"+filepath.Join(t.TempDir(), "s"), func(Conn) (Handler, error) { return guarded{r, t}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr()
}

func TestStreamsThatAreNoneAreDropped(t *testing.T) {
	plain := Header{Type: 3}
	for name, c := range map[string]struct {
		send  func(s *stranger) []byte
		words string
	}{
		"huge length":          {func(s *stranger) []byte { return s.frame(classBulk, Header{Length: 0xffffffff}, nil) }, "announces 4294967295 bytes"},
		"over the limit":       {func(s *stranger) []byte { return s.frame(classControl, Header{Length: MaxControl + 1}, nil) }, "announces 262145 bytes"},
		"wrong magic":          {func(s *stranger) []byte { return append([]byte("HTTP"), s.frame(classControl, plain, nil)[4:]...) }, "begins with 48 54 54 50"},
		"wrong checksum":       {func(s *stranger) []byte { b := s.frame(classControl, plain, nil); b[20] ^= 1; return b }, "checksum"},
		"other stream":         {func(s *stranger) []byte { s.nonce++; return s.frame(classControl, plain, nil) }, "checksum"},
		"repeated frame":       {func(s *stranger) []byte { b := s.frame(classControl, plain, nil); return append(b, b...) }, "checksum"},
		"left out frame":       {func(s *stranger) []byte { s.n++; return s.frame(classControl, plain, nil) }, "checksum"},
		"other version":        {func(s *stranger) []byte { b := s.frame(classControl, plain, nil); b[4] = 9; return b }, "version 9"},
		"unknown class":        {func(s *stranger) []byte { return s.frame(99, plain, nil) }, "unknown class 99"},
		"second hello":         {func(s *stranger) []byte { return s.frame(classHello, plain, nil) }, "where none may be"},
		"credit from thin air": {func(s *stranger) []byte { return s.frame(classCredit, Header{Aux: 1}, nil) }, "gives back 1 bytes"},
		"endless credit":       {func(s *stranger) []byte { return s.frame(classCredit, Header{Aux: 1 << 63}, nil) }, "gives back"},
	} {
		t.Run(name, func(t *testing.T) {
			server, r := network(t, Options{}), newRecorder()
			s := intrude(t, listen(t, server, r)).greet()
			s.Write(c.send(s))
			err := get(t, r.closed)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("closed with %v", err)
			}
			s.gone()
			if n := server.Refused(); n != 1 {
				t.Errorf("%d connections are counted as refused", n)
			}
		})
	}
}

func TestMoreBulkThanCreditIsDropped(t *testing.T) {
	server, r := network(t, Options{Window: minWindow}), newRecorder()
	l, err := server.Listen("tcp:127.0.0.1:0", func(c Conn) (Handler, error) { return holder{r}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := intrude(t, l.Addr()).greet()
	for range 2 {
		s.Write(s.frame(classBulk, Header{Length: MaxBulk/2 + 1}, make([]byte, MaxBulk/2+1)))
	}
	if err := get(t, r.closed); err == nil || !strings.Contains(err.Error(), "more than its credit") {
		t.Errorf("closed with %v", err)
	}
}

// holder gives no credit back.
type holder struct{ *recorder }

func (h holder) Frame(c Conn, head Header, body []byte) error {
	c.Hold(len(body) + HeaderSize)
	return nil
}

func TestBrokenHellosAreDropped(t *testing.T) {
	hello := func(change func(h *Header), name string) []byte {
		h := Header{Epoch: 5, Aux: defaultWindow, Length: uint32(len(name))}
		if change != nil {
			change(&h)
		}
		return append(rawHeader(classHello, h, 0), name...)
	}
	server, r := network(t, Options{}), newRecorder()
	addr := listen(t, server, r)
	for name, b := range map[string][]byte{
		"a frame first":    rawHeader(classControl, Header{}, 0),
		"no name":          hello(nil, ""),
		"long name":        hello(func(h *Header) { h.Length = 256 }, ""),
		"huge name":        hello(func(h *Header) { h.Length = 0xffffffff }, ""),
		"not text":         hello(nil, "\xff\xfe"),
		"control sequence": hello(nil, "\x1b[2J"),
		"no window":        hello(func(h *Header) { h.Aux = 0 }, "x"),
		"endless window":   hello(func(h *Header) { h.Aux = 1 << 63 }, "x"),
		"big nonce":        hello(func(h *Header) { h.Epoch = 1 << 40 }, "x"),
	} {
		before := server.Refused()
		s := intrude(t, addr)
		s.Write(b)
		s.gone()
		if server.Refused() != before+1 {
			t.Errorf("%s: not counted as refused", name)
		}
	}
	if len(r.closed) != 0 || len(r.frames) != 0 {
		t.Error("a handler has heard of them")
	}
}

func TestRecordedStreamIsDropped(t *testing.T) {
	server, r := network(t, Options{}), newRecorder()
	addr := listen(t, server, r)
	s := intrude(t, addr).greet()
	recorded := append(rawHeader(classHello, Header{Epoch: 5, Aux: defaultWindow, Length: 1}, 0), 'x')
	for i := range 3 {
		recorded = append(recorded, s.frame(classControl, Header{Step: uint64(i), Length: 2}, []byte("ab"))...)
	}
	s.Write(recorded[HeaderSize+1:])
	for range 3 {
		get(t, r.frames)
	}
	s.Close()
	get(t, r.closed)
	again := intrude(t, addr)
	again.Write(recorded)
	var protocol *ProtocolError
	if err := get(t, r.closed); !errors.As(err, &protocol) || protocol.Remote == "" {
		t.Errorf("closed with %v", err)
	}
	if len(r.frames) != 0 {
		t.Error("a recorded frame was taken")
	}
}

func TestSilentPeerIsDropped(t *testing.T) {
	server, r := network(t, Options{DialTimeout: 50 * time.Millisecond}), newRecorder()
	addr := listen(t, server, r)
	intrude(t, addr).gone()
	half := intrude(t, addr)
	half.Write([]byte(magic))
	half.gone()
	if len(r.closed) != 0 {
		t.Error("a handler has heard of it")
	}
}

// TestRandomBytes throws random bytes at a port of each kind, before and after
// the hello, and looks at what that costs.
func TestRandomBytes(t *testing.T) {
	const tries = 60
	dir := t.TempDir()
	for name, c := range map[string]struct {
		addr string
		opt  Options
		each uint64 // bytes that a connection may cost, the test's own part included
	}{
		"unix": {"unix:" + filepath.Join(dir, "s"), Options{}, 64 << 10},
		"tcp":  {"tcp:127.0.0.1:0", Options{}, 64 << 10},
		"tls":  {"tcp:127.0.0.1:0", Options{Name: "a", Keys: identity(t, dir, "a")}, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			server, r := network(t, c.opt), newRecorder()
			l, err := server.Listen(c.addr, func(Conn) (Handler, error) { return guarded{r, t}, nil })
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 1))
			noise := make([]byte, 4096)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range tries {
				s := intrude(t, l.Addr())
				if i%2 == 0 && name != "tls" {
					s.greet()
				}
				b := noise[:1+random.IntN(len(noise)-1)]
				for j := range b {
					b[j] = byte(random.Uint32())
				}
				if i%4 < 2 { // as far as the length
					copy(b, rawHeader(classBulk, Header{Length: 0xffffffff}, 0)[:crcAt])
				}
				s.Write(b)
				s.Conn.(interface{ CloseWrite() error }).CloseWrite()
				s.gone()
			}
			runtime.ReadMemStats(&after)
			if spent := (after.TotalAlloc - before.TotalAlloc) / tries; spent > c.each {
				t.Errorf("%d bytes are allocated for a stranger", spent)
			}
			if len(r.frames) != 0 {
				t.Error("noise was taken for a frame")
			}
		})
	}
}

// script is a stream that reads from a text and forgets what is written.
type script struct {
	plain
	in *bytes.Reader
}

func (s *script) read(a, b []byte) (int, error) {
	n, err := s.in.Read(a)
	if n == len(a) && len(b) > 0 {
		more, _ := s.in.Read(b)
		n += more
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// mend gives the frames of a stream what every frame has, so that chance
// finds its way past the checksums.
func mend(stream []byte) []byte {
	stream = append([]byte(nil), stream...)
	s := &stranger{}
	for rest := stream; len(rest) >= HeaderSize; s.n++ {
		copy(rest, magic)
		rest[4] = version
		binary.LittleEndian.PutUint32(rest[crcAt:], crc32.Update(seal(s.nonce, s.n), castagnoli, rest[:crcAt]))
		length := binary.LittleEndian.Uint32(rest[40:])
		rest = rest[HeaderSize:]
		rest = rest[min(uint64(len(rest)), uint64(length)):]
	}
	return stream
}

// FuzzStream reads arbitrary bytes as what comes after the hello.
func FuzzStream(f *testing.F) {
	s := &stranger{nonce: 0, n: 0}
	good := s.frame(classControl, Header{Type: 1, Length: 5}, []byte("hello"))
	good = append(good, s.frame(classBulk, Header{Type: 2, Length: 3}, []byte("abc"))...)
	for _, whole := range []bool{false, true} {
		f.Add(good, whole)
		f.Add(append(good, s.frame(classCredit, Header{Aux: 3}, nil)...), whole)
		f.Add(rawHeader(classBulk, Header{Length: 0xffffffff}, 0), whole)
		f.Add([]byte(magic), whole)
	}
	owner, err := NewSockets(Options{Name: "fuzz"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if whole {
			data = mend(data)
		}
		r := newRecorder()
		c := newConn(owner, guarded{r, t}, "fuzz")
		c.cancel = func() {}
		c.stream = &script{in: bytes.NewReader(data)}
		if err := c.read(); err == nil {
			t.Error("the stream has no end")
		}
		total := 0
		close(r.frames)
		for frame := range r.frames {
			total += HeaderSize + len(frame.body)
			if int(frame.h.Length) != len(frame.body) {
				t.Errorf("%d bytes of a body of %d", len(frame.body), frame.h.Length)
			}
		}
		if total > len(data) {
			t.Errorf("%d bytes of frames out of %d", total, len(data))
		}
	})
}

// FuzzHeader reads arbitrary bytes as a header; what is taken must be what
// writing it again gives.
func FuzzHeader(f *testing.F) {
	f.Add(rawHeader(classControl, Header{Type: 1, Flags: 2, Epoch: 3, Step: 4, Aux: 5, Bucket: 6, Chunk: 7, Length: 8}, 9), uint32(9))
	f.Add(rawHeader(classBulk, Header{Length: 0xffffffff}, 0), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, sealed uint32) {
		if len(b) < HeaderSize {
			return
		}
		class, h, err := parseHeader(b, sealed)
		if err != nil {
			return
		}
		if again := rawHeader(class, h, sealed); !bytes.Equal(again, b[:HeaderSize]) {
			t.Errorf("% x came back as % x", b[:HeaderSize], again)
		}
	})
}
