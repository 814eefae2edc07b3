package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group"
)

// worker is this rank in a group.
type worker struct {
	*group.Worker
	network *fabric.Sockets
}

// startWorker makes this rank a worker of a new group for the row that is being loaded, with all ranks as founders.
func (m *member) startWorker(elements int) (*worker, error) {
	network, err := fabric.NewSockets(fabric.Options{Name: strconv.Itoa(m.rank)})
	if err != nil {
		return nil, err
	}
	members := make([]group.Member, m.n)
	for rank := range members {
		members[rank] = group.Member{
			ID: group.ID(m.id(rank) + m.rows<<32), Name: strconv.Itoa(rank), Host: group.ThisHost(),
			Addr: "unix:" + filepath.Join(m.dir, fmt.Sprintf("group-%d-%d.sock", m.rows, rank)),
		}
	}
	w, err := group.Start(context.Background(), group.Config{
		Group: "bench", Self: members[m.rank], Founders: members, Network: network, Elements: elements,
		Suspect: time.Hour, // the harness stops all ranks while others have their turn
	})
	if err != nil {
		return nil, errors.Join(err, network.Close())
	}
	return &worker{w, network}, nil
}

func (w *worker) close() {
	w.Close()
	w.network.Close()
}
