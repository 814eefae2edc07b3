package fabric

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// rawPair connects two plain sockets.
func rawPair(b *testing.B, addr string) (here, there net.Conn) {
	network, address, _ := strings.Cut(addr, ":")
	l, err := net.Listen(network, address)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			b.Error(err)
		}
		accepted <- c
	}()
	here, err = net.Dial(network, l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	there = <-accepted
	b.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

func benchAddresses(b *testing.B) map[string]string {
	return map[string]string{"unix": "unix:" + filepath.Join(b.TempDir(), "s"), "tcp": "tcp:127.0.0.1:0"}
}

// BenchmarkRoundTrip sends 1 KiB and waits for it to come back: over the
// fabric, and over a bare socket with the same number of bytes.
func BenchmarkRoundTrip(b *testing.B) {
	const size = 1 << 10
	for name, addr := range benchAddresses(b) {
		b.Run(name+"/raw", func(b *testing.B) {
			here, there := rawPair(b, addr)
			go func() {
				buf := make([]byte, HeaderSize+size)
				for {
					if _, err := io.ReadFull(there, buf); err != nil {
						return
					}
					there.Write(buf)
				}
			}()
			buf := make([]byte, HeaderSize+size)
			for b.Loop() {
				here.Write(buf)
				if _, err := io.ReadFull(here, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/fabric", func(b *testing.B) {
			roundTrips(b, addr+"2", Options{Name: "a"}, size)
		})
	}
	b.Run("tls/fabric", func(b *testing.B) {
		roundTrips(b, "tcp:127.0.0.1:0", Options{Name: "a", Keys: identity(b, b.TempDir(), "a")}, size)
	})
}

func roundTrips(b *testing.B, addr string, opt Options, size int) {
	if strings.HasPrefix(addr, "tcp:") {
		addr = "tcp:127.0.0.1:0"
	}
	c, came := echoes(b, addr, opt)
	body := make([]byte, size)
	b.ReportAllocs()
	for b.Loop() {
		c.Send(Control, Header{}, body, nil)
		<-came
	}
}

// sink is a handler that counts frames into one buffer, and tells when all
// have come.
type sink struct {
	buffer []byte
	left   int
	all    chan struct{}
}

func (s *sink) Body(_ Conn, h Header) ([]byte, error) { return s.buffer[:h.Length], nil }
func (s *sink) Frame(Conn, Header, []byte) error {
	if s.left--; s.left == 0 {
		close(s.all)
	}
	return nil
}
func (s *sink) Closed(Conn, error) {}

// BenchmarkThroughput sends frames of 1 MiB one way, beside a bare socket.
func BenchmarkThroughput(b *testing.B) {
	for name, addr := range benchAddresses(b) {
		b.Run(name+"/raw", func(b *testing.B) {
			const size = HeaderSize + 1<<20
			here, there := rawPair(b, addr)
			go func() {
				buf := make([]byte, size)
				for {
					if _, err := here.Write(buf); err != nil {
						return
					}
				}
			}()
			buf := make([]byte, size)
			b.SetBytes(size)
			for b.Loop() {
				if _, err := io.ReadFull(there, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/fabric", func(b *testing.B) { throughput(b, addr, Options{Name: "a"}) })
	}
	b.Run("tls/fabric", func(b *testing.B) {
		throughput(b, "tcp:127.0.0.1:0", Options{Name: "a", Keys: identity(b, b.TempDir(), "a")})
	})
}

// throughput keeps four frames of 1 MiB on their way.
func throughput(b *testing.B, addr string, opt Options) {
	const size = 1 << 20
	if strings.HasPrefix(addr, "unix:") {
		addr += "2"
	}
	server, client := network(b, opt), network(b, opt)
	at := &sink{make([]byte, size), b.N, make(chan struct{})}
	l, err := server.Listen(addr, func(Conn) (Handler, error) { return at, nil })
	if err != nil {
		b.Fatal(err)
	}
	c := client.Dial(l.Addr(), &sink{})
	body := make([]byte, size)
	var again func(error)
	again = func(err error) {
		if err == nil {
			c.Send(Bulk, Header{}, body, again)
		}
	}
	b.SetBytes(HeaderSize + size)
	b.ReportAllocs()
	b.ResetTimer()
	for range 4 {
		again(nil)
	}
	<-at.all
	b.StopTimer()
	server.Close()
}
