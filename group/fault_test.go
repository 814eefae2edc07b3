package group

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group/steplog"
)

// Workers as processes of their own: the test binary runs itself with a toySpec in its environment.
const toyVariable = "MILLRACE_GROUP_TOY"

// toySpec is what one process does.
type toySpec struct {
	Self     Member
	Founders []Member `json:",omitempty"`
	Join     []string `json:",omitempty"`
	Dir      string
	Elements int
	Samples  uint64
	Batch    uint64
	Last     uint64        // step; 0: that after which the parent says so, see fleet.end
	Rest     time.Duration // asleep in each step
	Hash     uint64        // every so many steps
	Kill     string        // where this process kills itself, see trap
	Register bool          // the authority is a file, else the majority
	Suspect  time.Duration
	Keys     string          // folder of keys for mutual TLS
	Service  *cluster.Config `json:",omitempty"` // keeps the register
	Calls    bool            // named calls beside the steps
}

// toyLine is what a process says of a step, on its standard output.
type toyLine struct {
	Step    uint64
	Epoch   uint64 // of the view
	Members int
	Samples uint64 // its own
	Time    int64  // Unix nanoseconds of its commit
	Hash    uint64 // after the last step
	Outcome string
	Mask    int64 // of those who took part in the last named calls, and in how many of them the same did
	Calls   int
	Status  Status
	Err     string
}

// toldToEnd is how many processes the parent wants to end together, this one among them; 0 for none yet. They do with
// the first step that all of them take, so that nobody is left who was cut off and comes back.
var toldToEnd atomic.Int64

// toyMain is the main function of such a process.
func toyMain(text string) int {
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); { // until the parent ends
			if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				toldToEnd.Store(n)
			}
		}
		os.Exit(2)
	}()
	var spec toySpec
	out := json.NewEncoder(os.Stdout)
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		out.Encode(toyLine{Err: err.Error()}) //nolint:errcheck // the parent is gone
		return 1
	}
	var line toyLine
	var mu sync.Mutex
	err := spec.run(func(l toyLine) {
		mu.Lock()
		defer mu.Unlock()
		line = l
		out.Encode(l) //nolint:errcheck
	})
	if err != nil {
		line.Err = err.Error()
		out.Encode(line) //nolint:errcheck
		return 1
	}
	return 0
}

func (spec *toySpec) run(tell func(toyLine)) error {
	options := fabric.Options{Name: spec.Self.Name}
	if spec.Keys != "" {
		identity, err := keys.Load(spec.Keys, spec.Self.Name)
		if err != nil {
			return err
		}
		options.Keys = identity
	}
	sockets, err := fabric.NewSockets(options)
	if err != nil {
		return err
	}
	defer sockets.Close() //nolint:errcheck // the process ends
	log, err := steplog.Open(filepath.Join(spec.Dir, spec.Self.Name+"-log"), steplog.Options{})
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck
	trap := newTrap(sockets, spec.Kill)
	model := newToy(spec.Elements)
	config := Config{
		Group: "toy", Self: spec.Self, Founders: spec.Founders, Join: spec.Join, Network: trap, Elements: spec.Elements,
		Data: Data{Samples: spec.Samples, Batch: spec.Batch}, State: model, Log: log, Suspect: spec.Suspect,
	}
	if os.Getenv("MILLRACE_GROUP_DEBUG") != "" {
		config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if spec.Register {
		config.Authority = ByRegister(fileRegister(filepath.Join(spec.Dir, "register")))
	}
	if spec.Service != nil {
		service, err := cluster.Open(context.Background(), *spec.Service)
		if err != nil {
			return err
		}
		defer service.Close()
		config.Authority = ByRegister(service.Register("view"))
	}
	w, err := Start(context.Background(), config)
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck
	calls := &callers{w: w}
	if spec.Calls {
		calls.bit = 1 << slices.IndexFunc(spec.Founders, func(m Member) bool { return m.ID == spec.Self.ID })
		defer calls.call()()
	}
	for over := false; spec.Last == 0 && !over || model.step < spec.Last; {
		s, err := w.Begin(context.Background())
		if errors.Is(err, ErrLeft) {
			break
		}
		if err != nil {
			return err
		}
		report := Report{Rate: toyRate * s.RateScale}
		if spec.Hash > 0 && s.Number%spec.Hash == 1 {
			report.Hash = model.hash()
		}
		if s.Weight > 0 {
			model.gradient(w.Gradients(), s.Epoch, s.Shares, func(lo, hi int) {
				trap.point("ready")
				s.Ready(lo, hi)
			})
		}
		time.Sleep(spec.Rest)
		told := toldToEnd.Load()
		report.Correct = uint64(min(told, 1))
		r, err := s.Commit(context.Background(), report)
		if err != nil {
			return err
		}
		now := time.Now().UnixNano()
		ready := int64(0) // all count alike
		for _, report := range r.Reports {
			ready += int64(report.Correct)
		}
		over = told > 0 && ready == told
		switch r.Outcome {
		case Apply:
			model.update(r.Step, float32(report.Rate), r.Mean)
		case Skip:
			model.step = r.Step
		}
		mask, made, err := calls.state()
		if err != nil {
			return err
		}
		tell(toyLine{
			Step: r.Step, Epoch: r.View.Epoch, Members: len(r.View.Members), Samples: s.Weight, Time: now, Outcome: r.Outcome.String(),
			Mask: mask, Calls: made,
		})
	}
	tell(toyLine{Step: model.step, Hash: model.hash(), Status: w.Status()})
	if spec.Last == 0 || spec.Last == model.step {
		_ = w.Settle(context.Background()) // the parent looks at all that have ended
	}
	return nil
}

// trap is a network that kills its process at a point: "send KIND N" before the N-th frame of a kind is
// sent, "sent KIND N" after it, "take KIND N" before one that came is handled, or "ready x N".
type trap struct {
	fabric.Network
	when, kind string
	left       atomic.Int64
}

func newTrap(n fabric.Network, text string) *trap {
	t := &trap{Network: n}
	count := int64(1) << 62
	if text != "" {
		if _, err := fmt.Sscan(text, &t.when, &t.kind, &count); err != nil {
			panic(err)
		}
	}
	t.left.Store(count)
	return t
}

func (t *trap) point(when string) { t.at(when, "x") }

func (t *trap) at(when, kind string) {
	if when == t.when && kind == t.kind && t.left.Add(-1) == 0 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // nothing is after it
		select {}
	}
}

// kindOf names a frame.
func kindOf(h fabric.Header, body []byte) string {
	switch {
	case dataFrame(h.Type):
		return "data"
	case h.Type == typeMessage && len(body) > 0:
		return []string{"", "token", "verdict", "reconcile", "accept", "installed", "beat", "fence"}[body[0]]
	case h.Type == typePart:
		return "part"
	case h.Type == typeTake:
		return "take"
	case h.Type == typeStripe:
		return "stripe"
	case h.Type == typeWant:
		return "want"
	}
	return "other"
}

func (t *trap) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	return t.Network.Listen(addr, func(c fabric.Conn) (fabric.Handler, error) {
		h, err := accept(&trapConn{c, t})
		return &trapHandler{h, t}, err
	})
}

func (t *trap) Dial(addr string, h fabric.Handler) fabric.Conn {
	return &trapConn{t.Network.Dial(addr, &trapHandler{h, t}), t}
}

type trapConn struct {
	fabric.Conn
	t *trap
}

func (c *trapConn) Send(p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	kind := kindOf(h, body)
	c.t.at("send", kind)
	c.Conn.Send(p, h, body, done)
	c.t.at("sent", kind)
}

type trapHandler struct {
	fabric.Handler
	t *trap
}

func (h *trapHandler) Frame(c fabric.Conn, head fabric.Header, body []byte) error {
	h.t.at("take", kindOf(head, body))
	return h.Handler.Frame(c, head, body)
}

// fileRegister is a register that processes on one machine share.
type fileRegister string

func (f fileRegister) Load(context.Context) ([]byte, uint64, error) {
	names, err := filepath.Glob(string(f) + ".[0-9]*")
	if err != nil || len(names) == 0 {
		return nil, 0, err
	}
	body, err := os.ReadFile(fmt.Sprintf("%s.%06d", f, len(names)))
	return body, uint64(len(names)), err
}

func (f fileRegister) Swap(_ context.Context, value []byte, revision uint64) (bool, error) {
	temporary, err := os.CreateTemp(filepath.Dir(string(f)), "swap")
	if err != nil {
		return false, err
	}
	defer os.Remove(temporary.Name())
	if _, err := temporary.Write(value); err != nil {
		return false, err
	}
	if err := temporary.Close(); err != nil {
		return false, err
	}
	err = os.Link(temporary.Name(), fmt.Sprintf("%s.%06d", f, revision+1))
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// fleet is processes of one group.
type fleet struct {
	t     *testing.T
	spec  toySpec
	procs []*proc
}

// proc is one of them.
type proc struct {
	name  string
	cmd   *exec.Cmd
	in    io.Writer // its end is that of this process
	lines []toyLine
	last  toyLine
	done  chan struct{}
	news  chan struct{} // a line has come
	mu    sync.Mutex
}

func newFleet(t *testing.T, n int, spec toySpec) *fleet {
	spec.Dir = t.TempDir()
	for i := range n {
		name := fmt.Sprintf("w%d", i)
		spec.Founders = append(spec.Founders, Member{ID: NewID(), Name: name, Addr: "unix:" + filepath.Join(spec.Dir, name), Host: spec.Self.Host})
	}
	return &fleet{t: t, spec: spec}
}

// start starts a worker; kill is where it kills itself.
func (f *fleet) start(i int, kill string) *proc {
	spec := f.spec
	spec.Self, spec.Kill = spec.Founders[i], kill
	return f.exec(spec)
}

// join starts a worker that joins.
func (f *fleet) join(name, kill string) *proc {
	spec := f.spec
	for _, p := range f.procs {
		select {
		case <-p.done:
		default:
			spec.Join = append(spec.Join, "unix:"+filepath.Join(spec.Dir, p.name))
		}
	}
	spec.Founders = nil
	spec.Self = Member{Name: name, Addr: "unix:" + filepath.Join(spec.Dir, name), Host: f.spec.Self.Host}
	spec.Kill = kill
	return f.exec(spec)
}

func (f *fleet) exec(spec toySpec, through ...string) *proc {
	f.t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		f.t.Fatal(err)
	}
	through = append(through, os.Args[0])
	p := &proc{name: spec.Self.Name, cmd: exec.Command(through[0], through[1:]...), done: make(chan struct{}), news: make(chan struct{}, 1)}
	p.cmd.Env = append(os.Environ(), toyVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		f.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go p.read(bufio.NewScanner(out))
	f.procs = append(f.procs, p)
	f.t.Cleanup(func() {
		p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // it may have ended
		p.cmd.Process.Kill()                  //nolint:errcheck
		<-p.done
	})
	return p
}

func (p *proc) read(lines *bufio.Scanner) {
	defer close(p.done)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l toyLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		p.mu.Lock()
		p.lines = append(p.lines, l)
		p.last = l
		p.mu.Unlock()
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
	p.cmd.Wait() //nolint:errcheck // the lines tell
}

// at is the newest step of the process.
func (p *proc) at() toyLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// reach waits until the process has committed a step.
func (p *proc) reach(t *testing.T, step uint64) {
	t.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		at := p.last.Step
		p.mu.Unlock()
		if at >= step {
			return
		}
		select {
		case <-p.news:
		case <-p.done:
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.last.Step < step {
				t.Fatalf("%s has ended after step %d: %s", p.name, p.last.Step, p.last.Err)
			}
			return
		case <-limit:
			t.Fatalf("%s is still at step %d, not %d", p.name, at, step)
		}
	}
}

// until waits until the process has told something.
func (p *proc) until(t *testing.T, what string, wanted func(toyLine) bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		last := p.last
		p.mu.Unlock()
		if wanted(last) {
			return
		}
		select {
		case <-p.news:
		case <-p.done:
			t.Fatalf("%s has ended, and not come to %s: %+v", p.name, what, last)
		case <-limit:
			t.Fatalf("%s does not come to %s: %+v", p.name, what, last)
		}
	}
}

// finish waits until the survivors have ended and checks that they did all steps, that their logs
// replayed end with the same bits, and that each sample was used once.
func (f *fleet) finish(survivors ...*proc) []steplog.Record {
	f.t.Helper()
	limit := time.After(patience)
	for _, p := range survivors {
		select {
		case <-p.done:
		case <-limit:
			for _, p := range survivors {
				p.mu.Lock()
				f.t.Logf("%s: step %d", p.name, p.last.Step)
				p.mu.Unlock()
				p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // it may have ended
				p.cmd.Process.Signal(syscall.SIGQUIT) //nolint:errcheck // it shows where its goroutines are
				<-p.done
			}
			f.t.Fatalf("%s does not end", p.name)
		}
		last := f.spec.Last
		if last == 0 {
			last = survivors[0].last.Step
		}
		if p.last.Err != "" || p.last.Step != last {
			f.t.Errorf("%s ends with step %d of %d: %s", p.name, p.last.Step, last, p.last.Err)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(f.spec.Dir, "*-log"))
	if err != nil {
		f.t.Fatal(err)
	}
	records, err := steplog.Merge(dirs...)
	if err != nil {
		f.t.Fatal(err)
	}
	for len(records) > 0 && records[len(records)-1].Step > survivors[0].last.Step { // of one that should have died, but lives
		records = records[:len(records)-1]
	}
	model, err := replay(f.spec.Elements, records)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := lostSamples(records, f.spec.Samples); err != nil {
		f.t.Error(err)
	}
	for _, p := range survivors {
		if p.last.Hash != model.hash() {
			f.t.Errorf("%s ends with hash %x, the replay of %d steps with %x", p.name, p.last.Hash, len(records), model.hash())
		}
	}
	return records
}

// end lets the workers end together, and checks as finish does.
func (f *fleet) end(survivors ...*proc) []steplog.Record {
	f.t.Helper()
	for _, p := range survivors {
		fmt.Fprintln(p.in, len(survivors))
	}
	return f.finish(survivors...)
}

// everything says whether faults are to be shown in all their forms, and for long.
func everything() bool { return os.Getenv("MILLRACE_FAULTS") != "" || os.Getenv("CI") == "true" }

// all marks a case that runs where everything does.
func all(t *testing.T) {
	if !everything() {
		t.Skip("set MILLRACE_FAULTS=1 or CI=true")
	}
}

// scene is a group of processes in which some die.
type scene struct {
	name     string
	kills    map[int]string // who kills itself where
	hosts    bool           // each on a host of its own, so that the ring is used
	register bool           // the authority is outside
	joiner   string         // a joiner comes after step 4; where it kills itself, "lives" for nowhere
	left     int            // members in the last step
	slow     bool           // not part of the usual run
}

var scenes = []scene{
	{name: "gradient half handed in", kills: map[int]string{2: "ready x 18"}, left: 4},
	{name: "rank 0, gradient half handed in", kills: map[int]string{0: "ready x 18"}, left: 4, slow: true},
	{name: "between frames of the ring", kills: map[int]string{2: "send data 150"}, hosts: true, left: 4},
	{name: "between wake-ups of shared memory", kills: map[int]string{2: "send data 12"}, left: 4, slow: true},
	{name: "prepared, nobody knows", kills: map[int]string{3: "send token 9"}, left: 4, slow: true},
	{name: "prepared, the parent knows", kills: map[int]string{4: "sent token 9"}, hosts: true, left: 4},
	{name: "root, before the verdict", kills: map[int]string{0: "send verdict 15"}, left: 4, slow: true},
	{name: "root, one half knows the verdict", kills: map[int]string{0: "sent verdict 15"}, left: 4},
	{name: "committed elsewhere", kills: map[int]string{1: "take verdict 9"}, hosts: true, left: 4, slow: true},

	{name: "two at once", kills: map[int]string{1: "send token 9", 3: "ready x 18"}, left: 3},
	{name: "three at once, by a service", kills: map[int]string{0: "send verdict 15", 2: "ready x 18", 4: "ready x 19"}, register: true, left: 2},
	{name: "initiator, in its first round", kills: map[int]string{2: "ready x 18", 3: "sent reconcile 1"}, left: 3, slow: true},
	{name: "a voter", kills: map[int]string{2: "ready x 18", 4: "take reconcile 1"}, left: 3},
	{name: "with the change accepted", kills: map[int]string{2: "ready x 18", 0: "take accept 1"}, left: 3},
	{name: "having passed the change on", kills: map[int]string{2: "ready x 18", 1: "sent accept 1"}, left: 3, slow: true},
	{name: "with the change accepted, by a service", kills: map[int]string{2: "ready x 18", 0: "take accept 1"}, register: true, hosts: true, left: 3, slow: true},
	{name: "all but one, by a service", kills: map[int]string{0: "ready x 18", 1: "ready x 19", 2: "ready x 20", 3: "ready x 18"}, register: true, left: 1},

	{name: "a joiner", joiner: "lives", left: 6},
	{name: "a joiner on the ring", joiner: "lives", hosts: true, left: 6, slow: true},
	{name: "joiner, before it asks for the state", joiner: "send take 1", left: 5, slow: true},
	{name: "joiner, with a stripe announced", joiner: "take stripe 2", left: 5},
	{name: "joiner, with parts of the state", joiner: "take part 3", hosts: true, left: 5, slow: true},
	{name: "source of the state, asked", kills: map[int]string{1: "take take 1"}, joiner: "lives", left: 5},
	{name: "source of the state, giving", kills: map[int]string{3: "send part 2"}, joiner: "lives", hosts: true, left: 5},
	{name: "a voter for the joiner", kills: map[int]string{4: "take reconcile 1"}, joiner: "lives", left: 5, slow: true},
	{name: "who lets it in, in its round", kills: map[int]string{0: "sent reconcile 1"}, joiner: "lives", register: true, left: 5, slow: true},
}

// TestScenes lets processes kill themselves at each point of a step's, a view's and a joiner's way.
func TestScenes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.slow {
				all(t)
			}
			f := newFleet(t, 5, toySpec{
				Elements: 400_000, Samples: 150, Batch: 20, Hash: 3, Register: c.register, Rest: time.Millisecond, Suspect: patience,
			})
			for i := range f.spec.Founders {
				f.spec.Founders[i].Host = "one"
				if c.hosts {
					f.spec.Founders[i].Host = fmt.Sprint("host", i)
				}
			}
			if c.joiner != "" {
				f.spec.Rest = 5 * time.Millisecond
			}
			var survivors []*proc
			for i := range 5 {
				p := f.start(i, c.kills[i])
				if c.kills[i] == "" {
					survivors = append(survivors, p)
				}
			}
			after := uint64(20)
			if c.joiner != "" {
				survivors[0].reach(t, 4)
				f.spec.Self.Host = f.spec.Founders[0].Host + map[bool]string{true: " of its own"}[c.hosts]
				p := f.join("late", map[bool]string{false: c.joiner}[c.joiner == "lives"])
				if c.joiner == "lives" {
					survivors = append(survivors, p)
				} else {
					<-p.done
				}
				after = survivors[0].at().Step
			}
			for _, p := range survivors {
				p.until(t, fmt.Sprintf("a step of its own with %d members", c.left), func(l toyLine) bool {
					return l.Step > after && l.Members == c.left && l.Samples > 0
				})
			}
			f.end(survivors...)
		})
	}
}

// TestZombie stops a process until the others have gone on without it, and lets it go on: it commits
// nothing of its own, comes back as another incarnation and takes shares again.
func TestZombie(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		who      int
		register bool
		host     string
	}{{2, false, "one"}, {0, true, "one"}, {3, true, ""}, {0, false, ""}} {
		t.Run(fmt.Sprintf("w%d service=%t %s", c.who, c.register, c.host), func(t *testing.T) {
			t.Parallel()
			if c.host == "" {
				all(t)
			}
			f := newFleet(t, 4, toySpec{
				Elements: 400_000, Samples: 150, Batch: 20, Hash: 3, Rest: 5 * time.Millisecond,
				Register: c.register,
			})
			var crew []*proc
			for i := range f.spec.Founders {
				f.spec.Founders[i].Host = c.host
				if c.host == "" {
					f.spec.Founders[i].Host = fmt.Sprint("host", i)
				}
			}
			for i := range 4 {
				crew = append(crew, f.start(i, ""))
			}
			zombie, other := crew[c.who], crew[(c.who+1)%4]
			zombie.reach(t, 5)
			stop(t, zombie)
			other.reach(t, 20)
			zombie.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // what follows tells
			for _, p := range crew {
				p.until(t, "a step of its own with 4 members", func(l toyLine) bool {
					return l.Step > 20 && l.Members == 4 && l.Samples > 0
				})
			}
			f.end(crew...)
		})
	}
}

func stop(t *testing.T, p *proc) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
