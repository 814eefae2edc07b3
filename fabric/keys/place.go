package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Place is where a machine's keys are. The zero value is none.
type Place struct{ Dir, Name string }

// Find finds the keys at a path as people give it: DIR/NAME where a directory holds those of several
// machines, or DIR where it holds one machine's only. An empty path is no keys. The keys can be loaded.
func Find(path string) (Place, error) {
	if path == "" {
		return Place{}, nil
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		dir, name := filepath.Split(filepath.Clean(path))
		p, err := loadable(Place{filepath.Clean(dir + "."), name})
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is no directory of keys, nor the name of a machine's: %w", path, err)
		}
		return p, err
	} else if err != nil {
		return Place{}, err
	} else if !info.IsDir() {
		return Place{}, fmt.Errorf("%s is a file: give the directory of the keys, and the name of this machine's after a slash", path)
	}
	found, _ := filepath.Glob(filepath.Join(path, "*"+certSuffix))
	var names []string
	for _, f := range found {
		if name := strings.TrimSuffix(filepath.Base(f), certSuffix); name != authorityName {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return Place{}, fmt.Errorf("%s holds the keys of %d machines: say which are this one's, as in %s", path, len(names), filepath.Join(path, "NAME"))
	}
	return loadable(Place{path, names[0]})
}

func loadable(p Place) (Place, error) {
	_, err := p.Load()
	return p, err
}

// Load reads the keys; nil for no keys.
func (p Place) Load() (*Identity, error) {
	if p == (Place{}) {
		return nil, nil
	}
	return Load(p.Dir, p.Name)
}

// Path is what Find takes; empty for no keys.
func (p Place) Path() string {
	if p == (Place{}) {
		return ""
	}
	return filepath.Join(p.Dir, p.Name)
}

// Files are the authority's certificate, the machine's and its key; empty for no keys.
func (p Place) Files() (authority, certificate, key string) {
	if p == (Place{}) {
		return "", "", ""
	}
	return filepath.Join(p.Dir, authorityName+certSuffix), p.Path() + certSuffix, p.Path() + keySuffix
}
