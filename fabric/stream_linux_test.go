package fabric

import (
	"errors"
	"os"
	"testing"
)

func TestUsersOfAUnixSocket(t *testing.T) {
	for _, c := range []struct {
		theirs, ours int
		allowed      bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}} {
		if err := checkUser(c.theirs, c.ours); (err == nil) != c.allowed || err != nil && !errors.Is(err, os.ErrPermission) {
			t.Errorf("user %d at a socket of user %d: %v", c.theirs, c.ours, err)
		}
	}
}
