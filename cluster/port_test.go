package cluster

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestPortIsClosedToOthers checks that the port of the embedded server lets nobody in who does not
// have the secret of its URL.
func TestPortIsClosedToOthers(t *testing.T) {
	c, err := Open(t.Context(), Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	scheme, rest, _ := strings.Cut(c.URL(), "://")
	_, address, secret := strings.Cut(rest, "@")
	if !secret {
		t.Fatalf("%s has no secret", c.URL())
	}
	for _, user := range []string{"", "guess@"} {
		conn, err := nats.Connect(scheme + "://" + user + address)
		if err == nil {
			conn.Close()
			t.Errorf("%q is let in", user)
		}
	}
	other, err := Open(t.Context(), Config{URL: c.URL()})
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
}
