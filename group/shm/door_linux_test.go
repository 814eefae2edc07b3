package shm

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/group/reduce"
	"millrace.dev/internal/unixsock"
	"millrace.dev/internal/unixsock/unixsocktest"
)

// stranger connects to a door.
func stranger(t *testing.T, d *Door) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, doorAddr(d.id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// attachTo attaches a worker to a member that is only a connection.
func attachTo(t *testing.T, w *worker, other *Door) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	team, err := w.door.Attach(ctx, Config{View: View{Epoch: 1, IDs: []uint64{w.id, other.id}}, Vector: w.vector, Mean: w.mean})
	if err == nil {
		team.Close() //nolint:errcheck // always nil
	}
	return err
}

// memory makes a file of memory that is sealed as told; the pages in front are missing.
func memory(t *testing.T, bytes int64, seals int, missing int64) int {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, bytes); err != nil {
		t.Fatal(err)
	}
	if off := missing * int64(os.Getpagesize()); off < bytes {
		if err := unix.Fallocate(fd, 0, off, bytes-off); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return fd
}

// Files that could shrink, or that are too short, are not mapped.
func TestUnsafeFilesAreRefused(t *testing.T) {
	const elements = 3000
	l := newLayout(elements, os.Getpagesize(), 2)
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for name, c := range map[string]struct {
		vector int
		share  int
		want   string
	}{
		"unsealed":      {memory(t, int64(l.vectorBytes()), unix.F_SEAL_GROW, 0), memory(t, int64(l.shareBytes()), sealed, 0), "sealed"},
		"may grow":      {memory(t, int64(l.vectorBytes()), sealed, 0), memory(t, int64(l.shareBytes()), unix.F_SEAL_SHRINK, 0), "sealed"},
		"short":         {memory(t, int64(l.vectorBytes())-1, sealed, 0), memory(t, int64(l.shareBytes()), sealed, 0), "bytes"},
		"empty":         {memory(t, int64(l.vectorBytes()), sealed, 0), memory(t, 0, sealed, 0), "bytes"},
		"a plain file":  {int(plain.Fd()), memory(t, int64(l.shareBytes()), sealed, 0), "not a file of memory"},
		"holes":         {memory(t, int64(l.vectorBytes()), sealed, 0), memory(t, int64(l.shareBytes()), sealed, 1), "holes"},
		"right, but no": {memory(t, int64(l.vectorBytes()), sealed, 0), memory(t, int64(l.shareBytes()), sealed, 0), "could not map"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorker(t, elements)
			other := newDoors(t, 1)[0]
			conn := stranger(t, w.door)
			o := offer{use: useTeam, epoch: 1, from: other.id, to: w.id, rank: 1, n: 2, page: uint32(os.Getpagesize()), elements: elements}
			if err := sendFiles(conn, o.encode(), []int{c.vector, c.share}); err != nil {
				t.Fatal(err)
			}
			conn.CloseWrite()
			if err := attachTo(t, w, other); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// What comes in at a door and is no offer is dropped with its files, and the door goes on.
func TestDoorTakesNothingButOffers(t *testing.T) {
	all := newWorkers(t, 2, 100)
	d := all[0].door
	good := offer{use: useTeam, epoch: 1, from: 5, to: d.id, n: 2}
	r := rand.New(rand.NewPCG(1, 1))
	again := func(epoch uint64) { // with a spare share at its end
		mustAttach(t, epoch, all)
		takeSteps(t, all, 2)
		for _, w := range all {
			w.get().Close() //nolint:errcheck // always nil
		}
	}
	again(1)
	settle(all)
	one := memory(t, 4096, sealed, 0)
	before, _ := resources(t)
	for i := range 200 {
		message := good.encode()
		files := []int{one, one}
		switch i % 6 {
		case 0:
			for j := range message {
				message[j] = byte(r.Uint32())
			}
		case 1:
			files = files[:1]
		case 2:
			files = []int{one, one, one, one, one, one, one, one, one, one, one, one}
		case 3:
			message = message[:r.IntN(len(message))]
		case 4:
			wrong := good
			wrong.to++
			message = wrong.encode()
		case 5:
			wrong := good
			wrong.use = 9
			message = wrong.encode()
		}
		if len(message) == 0 {
			continue
		}
		c := stranger(t, d)
		if err := sendFiles(c, message, files); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	again(2)
	settle(all)
	if after, _ := resources(t); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

func TestOtherUsersStayOutside(t *testing.T) {
	d := newDoors(t, 1)[0]
	o := offer{use: useTeam, epoch: 1, from: 5, to: d.id, n: 2}
	one := memory(t, 4096, sealed, 0)
	unixsocktest.Stranger(t, doorAddr(d.id), func(c *net.UnixConn) {
		sendFiles(c, o.encode(), []int{one, one}) //nolint:errcheck // it may be shut out before
		c.CloseWrite()                            //nolint:errcheck
		c.Read(make([]byte, 1))                   //nolint:errcheck // until the door closes the connection
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.visits) > 0 {
			t.Error("a process of another user is let in")
		}
	})
}

// A member can neither shorten what it has shown nor write what others have.
func TestSealsHold(t *testing.T) {
	v, err := NewVector(5000)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	f, err := v.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(0); err == nil {
		t.Error("a vector can shrink")
	}
	if err := f.Truncate(1 << 30); err == nil {
		t.Error("a vector can grow")
	}
	if _, err := f.WriteAt([]byte{0, 0, 128, 63}, 4); err != nil || v.Elements()[1] != 1 {
		t.Errorf("the file is not the vector: %v, %g", err, v.Elements()[1])
	}
	shown, err := readOnly(v.fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unixsock.CloseFiles([]int{shown})
	if mem, err := unix.Mmap(shown, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		unmap(mem)
		t.Error("what peers get can be mapped for writing")
	}
	fd, mem, err := create("share", 8192, true)
	if err != nil {
		t.Fatal(err)
	}
	defer unmap(mem)
	defer unixsock.CloseFiles([]int{fd})
	if mem, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		unmap(mem)
		t.Error("a share can be mapped for writing")
	}
}

func FuzzOffer(f *testing.F) {
	o := offer{use: useComm, epoch: 3, from: 5, to: 7, rank: 1, n: 2, page: 4096, elements: 9, plan: 11}
	f.Add(o.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := parseOffer(b)
		if err != nil {
			return
		}
		if again, err := parseOffer(parsed.encode()); err != nil || again != parsed {
			t.Errorf("%+v is read back as %+v, %v", parsed, again, err)
		}
	})
}

// oneStep does a step and ends the view, so that all of the step is over.
// takeSteps takes the first steps of a view, and cancels it.
func takeSteps(t *testing.T, view []*worker, steps int) {
	t.Helper()
	for step := range uint64(steps) {
		var results []chan outcome
		for _, w := range view {
			results = append(results, w.begin(step, 1))
			w.get().Ready(0, len(w.vector.g))
		}
		for _, result := range results {
			if got := <-result; got.err != nil {
				t.Fatal(got.err)
			}
		}
	}
	for _, w := range view {
		w.get().Cancel(ErrClosed)
		<-w.get().stopped
	}
}

// A new view takes over the mappings of the members that stay, and has a share in which there is no view's result.
func TestNextViewFindsWhatIsThere(t *testing.T) {
	all := newWorkers(t, 3, 100_000)
	files := map[uint64]bool{} // of shares with results
	var first []byte
	var left uint64 // share of a view without a step
	for epoch, steps := range []int{2, 3, 0, 2, 0, 0, 2, 1, 2} {
		view := all[:3-epoch%2]
		mustAttach(t, uint64(epoch), view)
		takeSteps(t, view, steps)
		for _, w := range all {
			w.door.stock.filling.Wait()
		}
		team := all[0].get()
		file, err := checkPeer(team.share.fd, 1)
		if err != nil || files[file] {
			t.Fatalf("epoch %d has a share with a result of a view before: %v", epoch, err)
		}
		if left != 0 && file != left {
			t.Errorf("epoch %d has another share than the view before, in which no step was done", epoch)
		}
		left = 0
		if files[file] = steps > 0; steps == 0 {
			left = file
		}
		if epoch == 0 {
			first = team.vectors[0].mem
		}
		if now := team.vectors[0].mem; &now[0] != &first[0] {
			t.Errorf("epoch %d maps the vector of a member anew", epoch)
		}
		if steps < 2 {
			continue
		}
		if !team.vectors[0].populated {
			t.Errorf("epoch %d: the vector of a member is not populated", epoch)
		}
		if now, want := len(all[0].door.stock.vectors), 2-epoch%2; now != want {
			t.Errorf("epoch %d: %d vectors are mapped, want %d", epoch, now, want)
		}
		spare := all[0].door.stock.spare
		if spare == nil {
			t.Fatalf("epoch %d: no spare share", epoch)
		}
		if inode, err := checkPeer(spare.fd, newLayout(100_000, os.Getpagesize(), 2).shareBytes()); err != nil || files[inode] {
			t.Fatalf("epoch %d: the spare share has been used: %v", epoch, err)
		}
	}
}

// A share that is being prepared is waited for, not made twice.
func TestPreparedShareIsTaken(t *testing.T) {
	all := newWorkers(t, 2, 5_000_000)
	var spare *share
	for _, w := range all {
		w.door.Prepare(5_000_000, 2)
	}
	all[0].door.stock.filling.Wait()
	spare = all[0].door.stock.spare
	mustAttach(t, 1, all)
	for rank, w := range all {
		w.door.stock.filling.Wait()
		if w.door.stock.spare != nil {
			t.Errorf("rank %d has made two shares", rank)
		}
	}
	if spare == nil || all[0].get().share != spare {
		t.Error("the share that was prepared is not taken")
	}
}

// Who is left behind in a view takes nothing for that view's that is written to a share which serves the next one.
func TestSharedBoardOfTwoViews(t *testing.T) {
	all := newWorkers(t, 4, 100_000)
	mustAttach(t, 1, all[:3])
	zombie := all[2].get()
	all[2].mu.Lock()
	all[2].team = nil // its team stays open
	all[2].mu.Unlock()
	t.Cleanup(func() { zombie.Close() }) //nolint:errcheck // always nil
	share := all[0].get().share
	rest := []*worker{all[0], all[1], all[3]}
	mustAttach(t, 2, rest)
	if all[0].get().share != share {
		t.Fatal("the share without a result is not taken again")
	}
	result := make(chan outcome, 1)
	zombie.Begin(1, 1, func(f reduce.Facts, err error) { result <- outcome{f, err} })
	zombie.Ready(0, 100_000)
	takeSteps(t, rest, 1)
	if rank, what := zombie.Waiting(); rank != 0 || what == "" {
		t.Errorf("it waits for rank %d: %q", rank, what)
	}
	zombie.Cancel(ErrClosed)
	if got := <-result; !errors.Is(got.err, ErrClosed) {
		t.Errorf("the step of a view that is over ends with %+v", got)
	}
}
