package keys

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	a, err := CreateAuthority(dir, "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	issue := func(name string) {
		t.Helper()
		if err := a.Issue(dir, name, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(path, want string) {
		t.Helper()
		if _, err := Find(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	found := func(path, name string) {
		t.Helper()
		p, err := Find(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		id, err := p.Load()
		if err != nil || id.Name != name {
			t.Errorf("%s: %+v, %v", path, id, err)
		}
		if _, cert, key := p.Files(); cert != filepath.Join(dir, name+".crt") || key != filepath.Join(dir, name+".key") {
			t.Errorf("%s: files %s and %s", path, cert, key)
		}
		if again, err := Find(p.Path()); again != p || err != nil {
			t.Errorf("%s is found at %s as %+v, %v", path, p.Path(), again, err)
		}
	}
	if p, err := Find(""); p != (Place{}) || err != nil {
		t.Errorf("no path: %+v, %v", p, err)
	}
	refused(dir, "holds the keys of 0 machines")
	issue("alpha")
	found(dir, "alpha")
	found(filepath.Join(dir, "alpha"), "alpha")
	refused(filepath.Join(dir, "beta"), "beta")
	refused(filepath.Join(dir, "alpha.crt"), "is a file")
	issue("beta")
	refused(dir, "say which are this one's")
	for _, name := range []string{"10.0.0.1", "a_b", "a..b", "a.", "host.example.org", "x-"} {
		issue(name)
		found(filepath.Join(dir, name), name)
	}
	found(filepath.Join(dir, "beta"), "beta")
}
