package keys

import (
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cluster makes an authority and workers in a directory.
func cluster(t *testing.T, workers ...string) string {
	t.Helper()
	dir := t.TempDir()
	a, err := CreateAuthority(dir, "test", 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range workers {
		if err := a.Issue(dir, name, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shake makes a TLS connection between two identities and returns what each
// side learnt of the other, or the error of each.
func shake(t *testing.T, client, server *Identity) (names [2]string, errs [2]error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := tls.Server(b, server.TLS())
		if errs[1] = s.Handshake(); errs[1] == nil {
			names[1] = s.ConnectionState().PeerCertificates[0].Subject.CommonName
			_, errs[1] = s.Write([]byte("x"))
		} else {
			b.Close()
		}
	}()
	c := tls.Client(a, client.TLS())
	if errs[0] = c.Handshake(); errs[0] == nil {
		names[0] = c.ConnectionState().PeerCertificates[0].Subject.CommonName
		_, errs[0] = io.ReadFull(c, make([]byte, 1)) // a refusal of the client comes here
	}
	a.Close()
	<-done
	return names, errs
}

func load(t *testing.T, dir, name string) *Identity {
	t.Helper()
	id, err := Load(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestMembersKnowEachOther(t *testing.T) {
	dir := cluster(t, "a", "b")
	names, errs := shake(t, load(t, dir, "a"), load(t, dir, "b"))
	if errs[0] != nil || errs[1] != nil || names != [2]string{"b", "a"} {
		t.Errorf("%v, %v", names, errs)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	ours, theirs := load(t, cluster(t, "a"), "a"), load(t, cluster(t, "a"), "a")
	if _, errs := shake(t, ours, theirs); errs[0] == nil {
		t.Error("a client took a server of another cluster")
	}
	mixed := *theirs
	mixed.authority = ours.authority // trusts us; we have no reason to trust it
	if _, errs := shake(t, &mixed, ours); errs[1] == nil {
		t.Error("a server took a client of another cluster")
	}
}

func TestAuthorityGoesOn(t *testing.T) {
	dir := cluster(t, "a")
	a, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir() // a worker's own, with the three files it needs
	if err := a.Issue(other, "b", time.Hour); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "ca.crt"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs := shake(t, load(t, other, "b"), load(t, dir, "a")); errs[0] != nil || errs[1] != nil {
		t.Error(errs)
	}
}

func TestKeysAreNotReplacedAndNotReadable(t *testing.T) {
	dir := cluster(t, "a")
	a, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, "a.key"))
	if err := a.Issue(dir, "a", time.Hour); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "a.key") {
		t.Errorf("issued again with %v", err)
	}
	if _, err := CreateAuthority(dir, "test", time.Hour); !errors.Is(err, fs.ErrExist) {
		t.Errorf("authority made again with %v", err)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, "a.key")); string(after) != string(before) {
		t.Error("the key changed")
	}
	for _, name := range []string{"a.key", "ca.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestBrokenFilesAreNamed(t *testing.T) {
	copyOf := func(t *testing.T, from, to string) {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		file  string
		words string
	}{
		"no file":        {func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "a.crt")) }, "a.crt", "cannot be read"},
		"no authority":   {func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "ca.crt")) }, "ca.crt", "cannot be read"},
		"not PEM":        {func(t *testing.T, dir string) { os.WriteFile(filepath.Join(dir, "a.key"), []byte("x"), 0o600) }, "a.key", "no PEM block"},
		"huge":           {func(t *testing.T, dir string) { os.WriteFile(filepath.Join(dir, "a.key"), make([]byte, 1<<20), 0o600) }, "a.key", "larger"},
		"key of another": {func(t *testing.T, dir string) { copyOf(t, filepath.Join(dir, "b.key"), filepath.Join(dir, "a.key")) }, "a.key", "not the key of a.crt"},
		"another's files": {func(t *testing.T, dir string) {
			copyOf(t, filepath.Join(dir, "b.key"), filepath.Join(dir, "a.key"))
			copyOf(t, filepath.Join(dir, "b.crt"), filepath.Join(dir, "a.crt"))
		}, "a.crt", "certificate of b"},
		"other authority": {func(t *testing.T, dir string) {
			copyOf(t, filepath.Join(cluster(t), "ca.crt"), filepath.Join(dir, "ca.crt"))
		}, "a.crt", "not valid in this cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cluster(t, "a", "b")
			c.spoil(t, dir)
			_, err := Load(dir, "a")
			var file *FileError
			if !errors.As(err, &file) || filepath.Base(file.Path) != c.file || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestExpiredCertificateIsRefused(t *testing.T) {
	dir := t.TempDir()
	a, err := CreateAuthority(dir, "test", time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Issue(dir, "a", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, "a"); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("got %v", err)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	dir := cluster(t)
	a, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "ca", "../a", "a/b", ".a", "a b", strings.Repeat("a", 65)} {
		if err := a.Issue(dir, name, time.Hour); err == nil {
			t.Errorf("issued for %q", name)
		}
	}
	if err := a.Issue(dir, "a", -1); err == nil {
		t.Error("issued for a negative time")
	}
	if _, err := CreateAuthority(t.TempDir(), "", time.Hour); err == nil {
		t.Error("made an authority without a name")
	}
}
