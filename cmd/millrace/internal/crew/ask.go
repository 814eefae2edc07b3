package crew

import (
	"context"
	"encoding/json"
	"fmt"

	"millrace.dev/group"
)

// Ask asks the members of a group at some addresses what they train.
func Ask(ctx context.Context, keys Keys, addrs []string) (*About, error) {
	a := &About{}
	return a, ask(ctx, keys, addrs, group.Question{About: true}, a)
}

// ask asks one of the members at some addresses.
func ask(ctx context.Context, keys Keys, addrs []string, q group.Question, answer any) error {
	network, err := keys.network("visitor")
	if err != nil {
		return err
	}
	defer network.Close()
	text, err := group.Ask(ctx, network, addrs, q)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of a member: %w", err)
	}
	return nil
}
