package group

import (
	"context"
	"encoding/json"
	"fmt"

	"millrace.dev/group/protocol"
)

// Register is a cell in a service outside of the group that changes by compare-and-swap only.
type Register interface {
	// Load returns the value and its revision, which is 0 while nothing was stored.
	Load(ctx context.Context) (value []byte, revision uint64, err error)
	// Swap stores a value if the revision is still the given one, and says whether it was.
	Swap(ctx context.Context, value []byte, revision uint64) (bool, error)
}

// Proposal is a view that shall follow, and the decision about the step in flight that goes with it.
type Proposal struct {
	Epoch  uint64 // that it ends
	View   View   // that follows, for people to read
	Change []byte // protocol.Change, encoded
}

// change decodes what was decided.
func (p Proposal) change() (*protocol.Change, error) {
	c, err := protocol.DecodeChange(p.Change)
	if err != nil {
		return nil, fmt.Errorf("the authority over views holds no change: %w", err)
	}
	return c, nil
}

// Authority decides which view follows another, where the group does not decide by majority. It is
// fixed when the group starts and never switched.
type Authority interface {
	// Propose asks that a view comes into force. It returns what is decided last: p itself, or the
	// proposal for the same or a later epoch that came first.
	Propose(ctx context.Context, p Proposal) (Proposal, error)
}

// ByRegister is the authority that keeps the view in a register: any number of survivors can go on,
// and while the service is down the group trains but cannot change its members.
func ByRegister(r Register) Authority { return service{r} }

type service struct{ register Register }

// Propose implements Authority.
func (s service) Propose(ctx context.Context, p Proposal) (Proposal, error) {
	value, err := json.Marshal(p)
	if err != nil {
		return Proposal{}, err
	}
	for ctx.Err() == nil {
		held, revision, err := s.register.Load(ctx)
		if err != nil {
			return Proposal{}, fmt.Errorf("the authority over views cannot be read: %w", err)
		}
		if revision != 0 {
			var now Proposal
			if err := json.Unmarshal(held, &now); err != nil {
				return Proposal{}, fmt.Errorf("the authority over views holds no view: %w", err)
			}
			if now.Epoch >= p.Epoch {
				return now, nil
			}
		}
		swapped, err := s.register.Swap(ctx, value, revision)
		if err != nil {
			return Proposal{}, fmt.Errorf("the authority over views cannot be changed: %w", err)
		}
		if swapped {
			return p, nil
		}
	}
	return Proposal{}, context.Cause(ctx)
}
