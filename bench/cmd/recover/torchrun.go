package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// elastic kills ranks under torchrun, which restarts them all.
type elastic struct {
	workers, kills int
	python, script string
	tell           func(any)
}

// pulse is a step of a rank.
type pulse struct {
	pid, rank, restart int
	step               uint64
	at                 int64
}

func (e *elastic) run() error {
	dir, err := os.MkdirTemp("", "recover-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of temporary files
	version, err := exec.Command(e.python, "-c", "import importlib.metadata as m; print(m.version('torch'))").Output()
	if err != nil {
		return fmt.Errorf("%s knows no torch: %w", e.python, err)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(e.python), "torchrun"), "--standalone", "--nnodes", "1", "--nproc-per-node", strconv.Itoa(e.workers),
		"--monitor-interval", "0.1", "--max-restarts", "1000", e.script)
	// In the store that restarts share by default gloo finds the addresses of the ranks before.
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1", "TMPDIR="+dir)
	runtime.LockOSThread() // whose end is a signal to torchrun
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	log, err := os.CreateTemp("", "torchrun-*.log")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w := &ward{pulses: map[int]map[int]pulse{}, news: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(func() { w.read(bufio.NewScanner(out)) })
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		ended := time.AfterFunc(10*time.Second, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		reading.Wait()
		cmd.Wait() //nolint:errcheck // it was told to end
		ended.Stop()
	}()
	for restart := range e.kills {
		before, err := w.await(restart, e.workers, 10)
		if err != nil {
			text, _ := os.ReadFile(log.Name())
			return errors.Join(err, fmt.Errorf("torchrun says: %s", tail(text, 2000)))
		}
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		victim := before[rand.IntN(e.workers)]
		at := now()
		if err := syscall.Kill(victim.pid, syscall.SIGKILL); err != nil {
			return err
		}
		after, err := w.await(restart+1, e.workers, 1)
		if err != nil {
			return err
		}
		k := kill{Type: "kill", Aim: "random", Phase: "any", First: patience.Seconds() * 1e3}
		for _, p := range after {
			ms := float64(p.at-at) / 1e6
			k.First, k.All = min(k.First, ms), max(k.All, ms)
		}
		e.tell(k)
	}
	e.tell(total{Type: "total", Version: string(version[:max(0, len(version)-1)])})
	return nil
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// ward watches the ranks.
type ward struct {
	mu     sync.Mutex
	pulses map[int]map[int]pulse // by restart and rank: the newest, but of a restart's first
	firsts map[[2]int]pulse
	ended  bool
	news   chan struct{}
}

func (w *ward) read(lines *bufio.Scanner) {
	for lines.Scan() {
		var p pulse
		if _, err := fmt.Sscanf(lines.Text(), "step %d %d %d %d %d", &p.pid, &p.rank, &p.restart, &p.step, &p.at); err != nil {
			continue
		}
		w.mu.Lock()
		if w.pulses[p.restart] == nil {
			w.pulses[p.restart] = map[int]pulse{}
		}
		if w.firsts == nil {
			w.firsts = map[[2]int]pulse{}
		}
		if _, known := w.firsts[[2]int{p.restart, p.rank}]; !known {
			w.firsts[[2]int{p.restart, p.rank}] = p
		}
		w.pulses[p.restart][p.rank] = p
		w.wake()
		w.mu.Unlock()
	}
	w.mu.Lock()
	w.ended = true
	w.wake()
	w.mu.Unlock()
}

func (w *ward) wake() {
	close(w.news)
	w.news = make(chan struct{})
}

// await waits until all ranks have taken so many steps after a restart, and returns the first of each.
func (w *ward) await(restart, workers int, steps uint64) ([]pulse, error) {
	limit := time.After(2 * patience)
	for {
		w.mu.Lock()
		var firsts []pulse
		for rank := range workers {
			if p, ok := w.pulses[restart][rank]; ok && p.step >= steps {
				firsts = append(firsts, w.firsts[[2]int{restart, rank}])
			}
		}
		ended, news := w.ended, w.news
		w.mu.Unlock()
		switch {
		case len(firsts) == workers:
			return firsts, nil
		case ended:
			return nil, fmt.Errorf("torchrun has ended before restart %d was at work", restart)
		}
		select {
		case <-news:
		case <-limit:
			return nil, fmt.Errorf("%d of %d ranks take steps after restart %d", len(firsts), workers, restart)
		}
	}
}
