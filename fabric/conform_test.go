package fabric_test

import (
	"path/filepath"
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/fabric/internal/conform"
	"millrace.dev/fabric/keys"
)

// wait asks again and again; a condition that never holds fails the test.
func wait(condition func() bool) bool {
	for range 25_000 {
		if condition() {
			return true
		}
		time.Sleep(200 * time.Microsecond)
	}
	return false
}

func TestSocketsConform(t *testing.T) {
	dir := t.TempDir()
	authority, err := keys.CreateAuthority(dir, "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	identity := func(name string) *keys.Identity {
		if err := authority.Issue(dir, name, time.Hour); err != nil {
			t.Fatal(err)
		}
		id, err := keys.Load(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	server, client := identity("server"), identity("client")
	for name, c := range map[string]struct {
		addr, nobody   string
		server, client *keys.Identity
	}{
		"unix": {addr: "unix", nobody: "unix:/nowhere/at/all"},
		"tcp4": {addr: "tcp:127.0.0.1:0", nobody: "tcp:127.0.0.1:1"},
		"tcp6": {addr: "tcp:[::1]:0", nobody: "tcp:[::1]:1"},
		"tls":  {addr: "tcp:127.0.0.1:0", nobody: "tcp:127.0.0.1:1", server: server, client: client},
	} {
		t.Run(name, func(t *testing.T) {
			conform.Run(t, func(t *testing.T) conform.Env {
				addr := func() string {
					if c.addr == "unix" {
						return "unix:" + filepath.Join(t.TempDir(), "s")
					}
					return c.addr
				}
				open := func(name string, id *keys.Identity) fabric.Network {
					s, err := fabric.NewSockets(fabric.Options{Name: name, Keys: id})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { s.Close() })
					return s
				}
				return conform.Env{
					Server: open("server", c.server), Client: open("client", c.client),
					Addr: addr, Nobody: c.nobody, Wait: wait,
				}
			})
		})
	}
}
