package cluster

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"millrace.dev/fabric/keys"
)

// TestKeys: a server with keys for its address and clients with keys of the same authority trust each other; with keys
// of another they do not, in either direction.
func TestKeys(t *testing.T) {
	ours, theirs := machineKeys(t, "127.0.0.1", "beta"), machineKeys(t, "beta")
	server := openOwn(t, Config{Listen: "127.0.0.1:0", TLS: ours("127.0.0.1")})
	client, err := Open(patient(t), Config{URL: server.URL(), TLS: ours("beta")})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Create(patient(t), "view", []byte("1")); err != nil {
		t.Error(err)
	}
	mixed := theirs("beta")
	mixed.CA = ours("beta").CA // it trusts the server, but has no key that the server trusts
	for what, files := range map[string]TLSFiles{"of another authority": theirs("beta"), "that the server does not know": mixed} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if c, err := Open(ctx, Config{URL: server.URL(), TLS: files}); err == nil {
			c.Close()
			t.Errorf("a client with keys %s is let in", what)
		}
		cancel()
	}
}

// machineKeys makes an authority and keys of machines.
func machineKeys(t *testing.T, names ...string) func(name string) TLSFiles {
	t.Helper()
	dir := t.TempDir()
	authority, err := keys.CreateAuthority(dir, "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := authority.Issue(dir, name, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) TLSFiles {
		return TLSFiles{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
	}
}
