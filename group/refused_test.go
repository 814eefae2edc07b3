package group

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestRefusedShows: a status tells of connections that were dropped as no valid stream.
func TestRefusedShows(t *testing.T) {
	c := newCrew(t, 1)
	w := c.start(c.founders[0])
	if n := w.Status().Refused; n != 0 {
		t.Fatalf("%d connections refused before there was one", n)
	}
	for range 2 {
		stranger, err := net.Dial("unix", strings.TrimPrefix(c.founders[0].Addr, "unix:"))
		if err != nil {
			t.Fatal(err)
		}
		defer stranger.Close()
		if _, err := stranger.Write([]byte("GET / HTTP/1.1\r\nHost: worker.example.org\r\nAccept: everything and more\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	ctx := c.deadline()
	for w.Status().Refused != 2 {
		select {
		case <-ctx.Done():
			t.Fatalf("%d connections refused, not 2", w.Status().Refused)
		case <-time.After(time.Millisecond):
		}
	}
}
