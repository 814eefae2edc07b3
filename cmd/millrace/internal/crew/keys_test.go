package crew

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace.dev/fabric/keys"
)

func TestFindKeys(t *testing.T) {
	dir := t.TempDir()
	a, err := keys.CreateAuthority(dir, "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	find := func(path, want string) {
		t.Helper()
		k, err := FindKeys(path)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		network, err := k.network("nobody")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		network.Close()
	}
	find("", "")
	find(dir, "holds the keys of 0 machines")
	if err := a.Issue(dir, "alpha", time.Hour); err != nil {
		t.Fatal(err)
	}
	find(dir, "")
	find(filepath.Join(dir, "alpha"), "")
	find(filepath.Join(dir, "beta"), "beta")
	find(filepath.Join(dir, "alpha.crt"), "is a file")
	if err := a.Issue(dir, "beta", time.Hour); err != nil {
		t.Fatal(err)
	}
	find(dir, "say which are this one's")
	find(filepath.Join(dir, "beta"), "")
}
