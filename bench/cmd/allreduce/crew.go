package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// library says how its ranks are started.
type library struct {
	name, version, settings string
	// commands start n ranks; dir is a fresh folder. A rank connects to the Unix socket $BENCH_CONTROL, says "rank R" and
	// then answers requests.
	commands func(n int, dir string) []*exec.Cmd
}

func libraries() map[string]library {
	self := os.Args[0]
	bench := filepath.Dir(filepath.Dir(self)) // the program lies in bench/work
	each := func(n int, dir string, name string, args ...string) []*exec.Cmd {
		cmds := make([]*exec.Cmd, n)
		for rank := range cmds {
			cmds[rank] = exec.Command(name, args...)
			cmds[rank].Env = append(os.Environ(), fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", n), "BENCH_DIR="+dir)
		}
		return cmds
	}
	return map[string]library{
		"ours": {"millrace", "", "GOMAXPROCS as found", func(n int, dir string) []*exec.Cmd { return each(n, dir, self, "rank") }},
		"gloo": {"PyTorch gloo", output(bench+"/.venv/bin/python", "-c", "import importlib.metadata as m; print(m.version('torch'))"),
			"a file store, one thread for PyTorch itself, gloo's own threads; in place; several tensors side by side", func(n int, dir string) []*exec.Cmd {
				return each(n, dir, bench+"/.venv/bin/python", bench+"/group/torch_rank.py")
			}},
		"mpi": {"Open MPI", output("mpirun", "--version"), "mpi_yield_when_idle, no binding, shared memory (vader); in place; several buffers in a row",
			func(n int, dir string) []*exec.Cmd {
				cmd := exec.Command("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
					"--mca", "mpi_yield_when_idle", "1", "-np", strconv.Itoa(n), filepath.Join(bench, "work", "mpi_rank"))
				cmd.Env = append(os.Environ(), "TMPDIR="+dir)
				return []*exec.Cmd{cmd}
			}},
		"kungfu": {"KungFu", output("git", "-C", kungFu(), "rev-parse", "--short=12", "HEAD"), "strategy STAR (its best on one machine), Unix sockets; tensors of a step side by side",
			func(n int, dir string) []*exec.Cmd {
				cmd := exec.Command(filepath.Join(bench, "work", "kungfu-run"), "-q", "-np", strconv.Itoa(n), "-H", fmt.Sprintf("127.0.0.1:%d", n), "-strategy", "STAR",
					"-logdir", dir, filepath.Join(bench, "work", "kungfu_rank"))
				return []*exec.Cmd{cmd}
			}},
	}
}

// kungFu is where group/setup.sh keeps its checkout.
func kungFu() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "millrace-bench", "kungfu")
}

// output is the first line of a program's output, for descriptions.
func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// crew is the ranks of a library.
type crew struct {
	of     library
	n      int
	loaded map[string]bool
	ranks  []*rank
	cmds   []*exec.Cmd
	dir    string
}

// rank is the connection to one rank.
type rank struct {
	conn net.Conn
	in   *bufio.Reader
}

func serveCrew(kind string) error {
	l, known := libraries()[kind]
	if !known {
		return fmt.Errorf("unknown library %q", kind)
	}
	c := &crew{of: l, loaded: map[string]bool{}}
	defer c.stop()
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		reply, err := c.answer(strings.Fields(lines.Text()))
		if err != nil {
			reply = map[string]any{"error": err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (c *crew) answer(words []string) (any, error) {
	if len(words) == 1 && words[0] == "info" {
		return map[string]any{"name": c.of.name, "version": c.of.version, "settings": c.of.settings}, nil
	}
	if len(words) < 3 {
		return nil, fmt.Errorf("unknown request %q", words)
	}
	what, size, _ := strings.Cut(words[1], "/n=")
	n, err := strconv.Atoi(size)
	if err != nil || n < 2 || n > 64 {
		return nil, fmt.Errorf("row %q has no number of ranks", words[1])
	}
	sizes, err := sizesOf(what)
	if err != nil {
		return nil, err
	}
	row := words[1] + " " + words[2]
	if words[0] == "load" {
		if err := c.man(n); err != nil {
			return nil, err
		}
	} else if !c.loaded[row] {
		return nil, fmt.Errorf("%s has not been loaded", row)
	}
	request := append([]string{words[0], join(sizes)}, words[2:]...)
	reply, err := c.ask(strings.Join(request, " "))
	if err != nil {
		c.stop() // nobody knows what the others wait for
		return nil, err
	}
	switch words[0] {
	case "load":
		c.loaded[row] = true
		return c.answer([]string{"run", words[1], words[2], "4"}) // when all ranks have loaded: warm up
	case "drop":
		delete(c.loaded, row)
	}
	return reply, nil
}

// man sees that n ranks are there.
func (c *crew) man(n int) error {
	if c.n == n {
		return nil
	}
	if len(c.loaded) > 0 {
		return fmt.Errorf("%d ranks are at work, not %d", c.n, n)
	}
	c.stop()
	err := c.start(n)
	if err != nil {
		c.stop()
	}
	return err
}

func (c *crew) start(n int) error {
	dir, err := os.MkdirTemp("", "crew")
	if err != nil {
		return err
	}
	c.dir = dir
	control := filepath.Join(dir, "control")
	l, err := net.Listen("unix", control)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, cmd := range c.of.commands(n, dir) {
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(cmd.Env, "BENCH_CONTROL="+control)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		c.cmds = append(c.cmds, cmd)
	}
	c.ranks = make([]*rank, n)
	l.(*net.UnixListener).SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // fails on closed listeners only
	for range n {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("the ranks of %s do not come: %w", c.of.name, err)
		}
		r := &rank{conn, bufio.NewReader(conn)}
		var number int
		line, err := r.in.ReadString('\n')
		if _, scanErr := fmt.Sscanf(line, "rank %d", &number); err != nil || scanErr != nil || number < 0 || number >= n || c.ranks[number] != nil {
			return errors.Join(fmt.Errorf("a rank says %q", line), err)
		}
		c.ranks[number] = r
	}
	c.n = n
	return nil
}

// ask passes a request to all ranks and joins their answers.
func (c *crew) ask(request string) (map[string]any, error) {
	for i, r := range c.ranks {
		if _, err := io.WriteString(r.conn, request+"\n"); err != nil {
			return nil, fmt.Errorf("rank %d: %w", i, err)
		}
	}
	joined := map[string]any{}
	var wall, cpu, loss float64
	for i, r := range c.ranks {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("rank %d is gone: %w", i, err)
		}
		var a struct {
			Error     string
			Wall, CPU float64
			Steps     int
			Loss      float64
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("rank %d answers %q: %w", i, line, err)
		}
		if a.Error != "" {
			return nil, fmt.Errorf("rank %d: %s", i, a.Error)
		}
		wall, cpu = max(wall, a.Wall), cpu+a.CPU
		loss = max(loss, a.Loss)
		joined["steps"], joined["loss"] = a.Steps, loss
	}
	joined["wall"], joined["cpu"] = wall, cpu
	return joined, nil
}

// stop ends the ranks: they end when their connection does.
func (c *crew) stop() {
	for _, r := range c.ranks {
		if r != nil {
			r.conn.Close()
		}
	}
	for _, cmd := range c.cmds {
		ended := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() }) //nolint:errcheck // it may be gone
		cmd.Wait()                                                            //nolint:errcheck // how it ends is of no interest
		ended.Stop()
	}
	if c.dir != "" {
		os.RemoveAll(c.dir) //nolint:errcheck // a folder of temporary files
	}
	c.ranks, c.cmds, c.dir, c.n = nil, nil, "", 0
	clear(c.loaded)
}
