package crew

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"millrace.dev/fabric/keys"
	"millrace.dev/group"
)

// Ask asks the members of a group at some addresses what they train. It asks again until ctx ends: they
// may be about to begin.
func Ask(ctx context.Context, at keys.Place, addrs []string) (*About, error) {
	for {
		a := &About{}
		err := ask(ctx, at, addrs, group.Question{About: true}, a)
		if err == nil {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(askAgain):
		}
	}
}

const askAgain = 200 * time.Millisecond

// ask asks one of the members at some addresses.
func ask(ctx context.Context, at keys.Place, addrs []string, q group.Question, answer any) error {
	n, err := network(at, "visitor")
	if err != nil {
		return err
	}
	defer n.Close()
	text, err := group.Ask(ctx, n, addrs, q)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of a member: %w", err)
	}
	return nil
}
