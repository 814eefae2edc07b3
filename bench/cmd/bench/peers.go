package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"millrace.dev/bench/harness"
)

const python = ".venv/bin/python"

// threadCounts are raced one after the other.
var threadCounts = []int{1, 2}

// command describes a peer held to a number of threads: its process may run on that many CPUs
// only, and its libraries are told so.
func (s *setting) command(name string, threads int, env []string, args ...string) harness.Command {
	return harness.Command{
		Name: fmt.Sprintf("%s-%d", name, threads),
		CPUs: harness.LastCPUs(s.cpus, threads),
		Env:  env,
		Args: args,
	}
}

func (s *setting) ours(threads int) harness.Command {
	return s.command("ours", threads, nil, filepath.Join(workDir, "ours"), fmt.Sprint(threads))
}

func (s *setting) torch(threads int) harness.Command {
	return s.command("torch", threads, []string{
		fmt.Sprintf("OMP_NUM_THREADS=%d", threads),
		fmt.Sprintf("MKL_NUM_THREADS=%d", threads),
		"TORCHINDUCTOR_CACHE_DIR=" + s.cache("inductor"),
	}, python, "peers/torch_step.py", fmt.Sprint(threads))
}

// cache is a folder in which a peer keeps what it compiled from run to run.
func (s *setting) cache(name string) string { return filepath.Join(s.dir, workDir, name) }

func (s *setting) jax(threads int) harness.Command {
	flags := fmt.Sprintf("XLA_FLAGS=--xla_cpu_multi_thread_eigen=%t intra_op_parallelism_threads=%d", threads > 1, threads)
	return s.command("jax", threads, []string{
		flags,
		"JAX_PLATFORMS=cpu",
		"JAX_CPU_ENABLE_ASYNC_DISPATCH=0",
		"JAX_COMPILATION_CACHE_DIR=" + s.cache("jax"),
		"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0",
	}, python, "peers/jax_step.py")
}

func (s *setting) oneDNN(threads int) harness.Command {
	return s.command("onednn", threads, []string{fmt.Sprintf("OMP_NUM_THREADS=%d", threads)}, filepath.Join(workDir, "onednn_gemm"))
}

func (s *setting) numpy(threads int) harness.Command {
	return s.command("numpy", threads, []string{fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", threads)}, python, "peers/numpy_gemm.py")
}

// crew is a set of running peers.
type crew struct {
	peers []*harness.Peer
}

// start starts peers side by side and gives them in the order of their commands.
func (c *crew) start(ctx context.Context, cmds ...harness.Command) ([]*harness.Peer, error) {
	peers, errs := make([]*harness.Peer, len(cmds)), make([]error, len(cmds))
	var all sync.WaitGroup
	for i, cmd := range cmds {
		all.Go(func() { peers[i], errs[i] = harness.Start(ctx, cmd, workDir) })
	}
	all.Wait()
	for _, p := range peers {
		if p != nil {
			c.peers = append(c.peers, p)
		}
	}
	return peers, errors.Join(errs...)
}

func (c *crew) close() {
	for _, p := range c.peers {
		p.Close()
	}
}

// describe adds the peers' versions and settings to a report.
func (c *crew) describe(r *harness.Report) {
	for _, p := range c.peers {
		r.Peers = append(r.Peers, fmt.Sprintf("%s %s: %s", p.Info.Name, p.Info.Version, p.Info.Settings))
	}
}

// limits measures the machine and notes it in the report.
func (s *setting) limits(ctx context.Context, c *crew, r *harness.Report) (*harness.Limits, error) {
	progress("the machine's limits")
	peers, err := c.start(ctx, harness.Command{Name: "limits", Args: []string{filepath.Join(workDir, "limits")}})
	if err != nil {
		return nil, err
	}
	l, err := harness.MeasureLimits(ctx, peers[0], threadCounts)
	if err == nil {
		r.Machine = append(r.Machine, l.Lines(threadCounts)...)
	}
	return l, err
}
