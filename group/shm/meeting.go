package shm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"millrace.dev/internal/unixsock"
)

// meeting is the exchange of files between the members of a view, in two rounds: everybody's files, and then
// everybody's word that all could be mapped. The first has a time limit and the second none but the caller's: who
// has given its word stays with it until it has heard every other's, so that all come to the same end.
type meeting struct {
	door  *Door
	mine  offer
	ids   []uint64
	conns []*net.UnixConn
	fds   [][]int // by rank; the meeting's own until close
}

// meet sends files to all members and takes theirs; with refusal it only tells them that there are none to be had. The
// meeting must be closed, whatever the error.
func (d *Door) meet(ctx context.Context, mine offer, ids []uint64, fds []int, refusal error) (*meeting, error) {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	m := &meeting{door: d, mine: mine, ids: ids, conns: make([]*net.UnixConn, len(ids)), fds: make([][]int, len(ids))}
	err := refusal
	if err != nil {
		m.mine.refused = 1
	}
	for rank := range ids {
		if rank == int(mine.rank) {
			continue
		}
		if failed := m.show(ctx, rank, fds); failed != nil && err == nil {
			err = unsupported(fmt.Sprintf("showing memory to rank %d", rank), failed)
			m.mine.refused = 1 // the members after it need not wait; those before it see the meeting closed
		}
	}
	for rank := range ids {
		if err == nil && rank != int(mine.rank) {
			err = m.see(ctx, rank)
		}
	}
	return m, err
}

// show sends a member the files, or nothing after a refusal.
func (m *meeting) show(ctx context.Context, rank int, fds []int) error {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", doorAddr(m.ids[rank]).String())
	if err != nil {
		return err
	}
	m.conns[rank] = c.(*net.UnixConn)
	if deadline, ok := ctx.Deadline(); ok {
		c.SetDeadline(deadline) //nolint:errcheck // fails on closed connections only
	}
	if err := unixsock.CheckUser(m.conns[rank]); err != nil {
		return err
	}
	o := m.mine
	o.to = m.ids[rank]
	return sendFiles(m.conns[rank], o.encode(), fds[:o.files()])
}

// see takes a member's files.
func (m *meeting) see(ctx context.Context, rank int) error {
	var theirs offer
	err := m.door.await(ctx, visitKey{m.mine.use, m.mine.epoch, m.ids[rank]}, func(v *visit) bool {
		theirs, m.fds[rank], v.fds = v.offer, v.fds, nil
		return true
	})
	switch {
	case err != nil:
		return unsupported(fmt.Sprintf("seeing the memory of rank %d", rank), err)
	case theirs.refused != 0:
		return unsupported(fmt.Sprintf("sharing memory with rank %d", rank), errRefused)
	}
	return theirs.check(&m.mine, rank)
}

var errRefused = errors.New("it could not map everybody's memory")

// agree tells the others that this member can go on, and waits until all say so.
func (m *meeting) agree(ctx context.Context) error {
	for rank, c := range m.conns {
		if c == nil {
			continue
		}
		c.SetDeadline(time.Time{}) //nolint:errcheck // fails on closed connections only
		if _, err := c.Write([]byte{byte(agreed)}); err != nil {
			return unsupported(fmt.Sprintf("showing memory to rank %d", rank), err)
		}
	}
	for rank, id := range m.ids {
		if rank == int(m.mine.rank) {
			continue
		}
		var word verdict
		err := m.door.await(ctx, visitKey{m.mine.use, m.mine.epoch, id}, func(v *visit) bool {
			word = v.verdict
			return word != pending
		})
		if err == nil && word == failed {
			err = errRefused
		}
		if err != nil {
			return unsupported(fmt.Sprintf("sharing memory with rank %d", rank), err)
		}
	}
	return nil
}

// close ends the meeting; who has not heard that this member agrees takes it for failed.
func (m *meeting) close() {
	for _, c := range m.conns {
		if c != nil {
			c.Close() //nolint:errcheck // all has been said
		}
	}
	for _, fds := range m.fds {
		unixsock.CloseFiles(fds)
	}
	m.door.forget(m.mine.use, m.mine.epoch)
}
