package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/collective"
	"millrace.dev/group/reduce"
	"millrace.dev/group/shm"
)

// Variants of our rows.
const (
	registered = "registered" // gradients in a vector that the others can read; the mean in another
	inPlace    = "in-place"   // any buffer, by a call of a group's worker
	ringUnix   = "ring-unix"  // the ring, over Unix sockets
	ringTCP    = "ring-tcp"
	driver     = "group" // whole steps of a group of workers: registered, and the commit
)

// patience bounds a step.
const patience = 20 * time.Second

// member is one rank.
type member struct {
	rank, n int
	dir     string
	door    *shm.Door
	meshes  map[string]*mesh // by network
	caller  *worker          // whose calls are the rows in place; nil before the first
	rows    uint64           // loaded so far
}

func serveRank() error {
	m := &member{dir: os.Getenv("BENCH_DIR"), meshes: map[string]*mesh{}}
	var err error
	if m.rank, err = strconv.Atoi(os.Getenv("RANK")); err != nil {
		return err
	}
	if m.n, err = strconv.Atoi(os.Getenv("WORLD_SIZE")); err != nil {
		return err
	}
	if m.door, err = shm.Open(m.id(m.rank)); err != nil {
		return err
	}
	defer m.door.Close()
	control, err := net.Dial("unix", os.Getenv("BENCH_CONTROL"))
	if err != nil {
		return err
	}
	fmt.Fprintf(control, "rank %d\n", m.rank)
	defer func() {
		for _, mesh := range m.meshes {
			mesh.net.Close()
		}
		if m.caller != nil {
			m.caller.close()
		}
	}()
	return m.serve(control)
}

func (m *member) id(rank int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.dir, rank)
	return h.Sum64()
}

// job is a row that is loaded.
type job struct {
	step    func() error
	share   func(steps int) float64 // of the least bytes that a ring can send, or MiB of memory of a group's worker; nil: neither
	check   func() error            // of the first step's result
	close   func()
	checked bool
}

func (m *member) serve(control net.Conn) error {
	answers := json.NewEncoder(control)
	lines := bufio.NewScanner(control)
	jobs := map[string]*job{}
	for lines.Scan() {
		reply, err := m.answer(strings.Fields(lines.Text()), jobs)
		if err != nil {
			reply = map[string]any{"error": err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (m *member) answer(words []string, jobs map[string]*job) (map[string]any, error) {
	row := words[1] + " " + words[2]
	switch words[0] {
	case "load":
		var sizes []int
		for s := range strings.SplitSeq(words[1], ",") {
			n, err := strconv.Atoi(s)
			if err != nil {
				return nil, err
			}
			sizes = append(sizes, n)
		}
		j, err := m.load(sizes, words[2])
		if err != nil {
			return nil, err
		}
		jobs[row] = j
		return map[string]any{}, nil
	case "drop":
		jobs[row].close()
		delete(jobs, row)
		runtime.GC()
		return map[string]any{}, nil
	case "run":
		steps, err := strconv.Atoi(words[3])
		if err != nil {
			return nil, err
		}
		j := jobs[row]
		if err := j.try(); err != nil {
			return nil, err
		}
		if j.share != nil {
			j.share(1) // count from here
		}
		step := j.step
		cpu, wall := cpuSeconds(), time.Now()
		for range steps {
			if err := step(); err != nil {
				return nil, err
			}
		}
		reply := map[string]any{"wall": time.Since(wall).Seconds(), "cpu": cpuSeconds() - cpu, "steps": steps}
		if j.share != nil {
			reply["loss"] = j.share(steps)
		}
		return reply, nil
	}
	return nil, fmt.Errorf("unknown request %q", words[0])
}

// try does the first step and checks its result.
func (j *job) try() error {
	if j.checked {
		return nil
	}
	j.checked = true
	if err := j.step(); err != nil {
		return err
	}
	return j.check()
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) //nolint:errcheck // fails for wrong arguments only
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

// load makes a row ready. What others send for it comes after all have loaded it.
func (m *member) load(sizes []int, variant string) (*job, error) {
	m.rows++
	switch variant {
	case driver:
		return m.loadGroup(sizes)
	case inPlace:
		return m.loadInPlace(sizes)
	}
	network := "unix"
	if variant == ringTCP {
		network = "tcp"
	}
	mesh, err := m.mesh(network)
	if err != nil {
		return nil, err
	}
	return m.loadStep(mesh, m.rows, sizes, variant)
}

// view is that of all ranks; a row's epoch is its number.
func (m *member) view(mesh *mesh, epoch uint64) shm.View {
	v := shm.View{Epoch: epoch, Rank: m.rank}
	for rank := range m.n {
		v.IDs = append(v.IDs, m.id(rank))
	}
	return v
}

// loadStep makes a vector of all tensors and reduces it as a training step does: the tensors get ready one after
// the other, the last first.
func (m *member) loadStep(mesh *mesh, epoch uint64, sizes []int, variant string) (*job, error) {
	total := 0
	for _, n := range sizes {
		total += n
	}
	vector, err := shm.NewVector(total)
	if err != nil {
		return nil, err
	}
	mean, err := shm.NewMean(total)
	if err != nil {
		return nil, err
	}
	g, r := vector.Elements(), mean.Elements()
	for i := range g {
		g[i] = float32(m.rank + 1)
	}
	reducer, end, err := m.reducer(mesh, epoch, variant, vector, mean)
	if err != nil {
		return nil, err
	}
	mesh.handle(epoch, reducer)
	results := make(chan error, 1)
	late := time.AfterFunc(patience, func() { reducer.Cancel(fmt.Errorf("no result in %v", patience)) })
	var facts reduce.Facts
	done := func(f reduce.Facts, err error) { facts = f; results <- err }
	number := uint64(0)
	step := func() error {
		number++
		late.Reset(patience)
		reducer.Begin(number, 1, done)
		hi := total
		for i := len(sizes) - 1; i >= 0; i-- {
			reducer.Ready(hi-sizes[i], hi)
			hi -= sizes[i]
		}
		err := <-results
		late.Stop() // the harness may stop this process for long now
		return err
	}
	check := func() error {
		want := float32(m.n*(m.n+1)/2) * reduce.Scale(uint64(m.n))
		if r[0] != want || r[total-1] != want || facts != (reduce.Facts{Weight: uint64(m.n), Finite: true}) {
			return fmt.Errorf("the mean is %g with %+v, not %g", r[0], facts, want)
		}
		return nil
	}
	var share func(int) float64
	if variant != registered {
		share = m.ringShare(mesh, total)
	}
	return &job{step: step, check: check, share: share, close: func() {
		late.Stop()
		mesh.handle(epoch, nil)
		end()
		vector.Close()
		mean.Close()
	}}, nil
}

// ringShare counts what goes to the right neighbour from call to call, over what a ring must send in so many steps.
func (m *member) ringShare(mesh *mesh, elements int) func(steps int) float64 {
	right := mesh.conns[(m.rank+1)%m.n]
	before := uint64(0)
	least := 2 * 4 * float64(elements) * float64(m.n-1) / float64(m.n)
	return func(steps int) float64 {
		sent := right.Stats().BytesSent
		defer func() { before = sent }()
		return float64(sent-before) / float64(steps) / least
	}
}

func (m *member) reducer(mesh *mesh, epoch uint64, variant string, vector *shm.Vector, mean *shm.Mean) (reduce.Reducer, func(), error) {
	if variant == registered {
		team, err := m.door.Attach(context.Background(), shm.Config{View: m.view(mesh, epoch), Vector: vector, Mean: mean})
		if err != nil {
			return nil, nil, err
		}
		return team, func() { team.Close() }, nil
	}
	ring, err := collective.NewStep(collective.StepConfig{
		Epoch: epoch, Rank: m.rank, Size: m.n, Gradients: vector.Elements(), Result: mean.Elements(), Send: mesh.send,
	})
	if err != nil {
		return nil, nil, err
	}
	return ring, func() {
		ring.Cancel(context.Canceled)
		for rank := range m.n {
			ring.Closed(rank)
		}
	}, nil
}

// mesh is the connections to all ranks over one network.
type mesh struct {
	me    int
	net   *fabric.Sockets
	mu    sync.Mutex
	ready *sync.Cond
	conns []fabric.Conn
	to    map[uint64]receiver // by epoch
}

type receiver interface {
	Body(from int, h fabric.Header) ([]byte, error)
	Frame(from int, h fabric.Header, body []byte) error
}

// mesh connects to all ranks, once for each network; the addresses lie in files of the crew's folder.
func (m *member) mesh(network string) (*mesh, error) {
	if mesh := m.meshes[network]; mesh != nil {
		return mesh, nil
	}
	net, err := fabric.NewSockets(fabric.Options{Name: strconv.Itoa(m.rank)})
	if err != nil {
		return nil, err
	}
	x := &mesh{me: m.rank, net: net, conns: make([]fabric.Conn, m.n), to: map[uint64]receiver{}}
	x.ready = sync.NewCond(&x.mu)
	m.meshes[network] = x
	file := func(rank int) string { return filepath.Join(m.dir, fmt.Sprintf("%s-%d", network, rank)) }
	addr := "tcp:127.0.0.1:0"
	if network == "unix" {
		addr = "unix:" + file(m.rank) + ".sock"
	}
	l, err := net.Listen(addr, x.accept)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file(m.rank)+".new", []byte(l.Addr()), 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(file(m.rank)+".new", file(m.rank)); err != nil {
		return nil, err
	}
	for rank := range m.rank {
		addr, err := await(file(rank))
		if err != nil {
			return nil, err
		}
		c := net.Dial(addr, &peer{x, rank})
		x.connected(rank, c)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for rank := 0; rank < m.n; rank++ {
		for rank != m.rank && x.conns[rank] == nil {
			x.ready.Wait()
		}
	}
	return x, nil
}

// await reads a file that another rank writes.
func await(name string) (string, error) {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(name)
		if err == nil || time.Since(start) > 30*time.Second {
			return string(text), err
		}
	}
}

func (x *mesh) accept(c fabric.Conn) (fabric.Handler, error) {
	from, err := strconv.Atoi(c.Peer())
	if err != nil || from <= x.me || from >= len(x.conns) {
		return nil, fmt.Errorf("a peer calls itself %q", c.Peer())
	}
	x.connected(from, c)
	return &peer{x, from}, nil
}

func (x *mesh) connected(rank int, c fabric.Conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conns[rank] = c
	x.ready.Broadcast()
}

func (x *mesh) handle(epoch uint64, r receiver) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r == nil {
		delete(x.to, epoch)
	} else {
		x.to[epoch] = r
	}
}

func (x *mesh) receiver(epoch uint64) receiver {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.to[epoch]
}

func (x *mesh) send(to int, p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	x.mu.Lock()
	c := x.conns[to]
	x.mu.Unlock()
	c.Send(p, h, body, done)
}

// peer takes what comes from one rank.
type peer struct {
	mesh *mesh
	from int
}

func (p *peer) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	if r := p.mesh.receiver(h.Epoch); r != nil {
		return r.Body(p.from, h)
	}
	return nil, fmt.Errorf("rank %d: data of row %d, which is not loaded here", p.from, h.Epoch)
}

func (p *peer) Frame(_ fabric.Conn, h fabric.Header, body []byte) error {
	if r := p.mesh.receiver(h.Epoch); r != nil {
		return r.Frame(p.from, h, body)
	}
	return nil
}

// Closed ends the rank: the bench is over or cannot go on.
func (p *peer) Closed(_ fabric.Conn, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, fabric.ErrClosed) {
		return // the row or the bench is over
	}
	fmt.Fprintf(os.Stderr, "rank %d: the connection to rank %d is lost: %v\n", p.mesh.me, p.from, err)
	os.Exit(1)
}
