// One rank of KungFu as a peer; cmd/allreduce has kungfu-run start it. It is built in a checkout of KungFu by
// group/setup.sh. The row is the list of the tensors' sizes; those of a step are reduced side by side, as KungFu
// does for a training step.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	kb "github.com/lsds/KungFu/srcs/go/kungfu/base"
	"github.com/lsds/KungFu/srcs/go/kungfu/peer"
	"github.com/lsds/KungFu/srcs/go/kungfu/session"
	"github.com/lsds/KungFu/tests/go/taskgroup"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	p, err := peer.New()
	if err != nil {
		return err
	}
	p.Start()
	defer p.Close()
	sess := p.CurrentSession()
	control, err := net.Dial("unix", os.Getenv("BENCH_CONTROL"))
	if err != nil {
		return err
	}
	fmt.Fprintf(control, "rank %d\n", sess.Rank())
	answers := json.NewEncoder(control)
	lines := bufio.NewScanner(control)
	rows := map[string]func(){}
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		reply := map[string]interface{}{}
		switch words[0] {
		case "load":
			step, err := build(sess, words[1], len(rows))
			if err != nil {
				reply["error"] = err.Error()
				break
			}
			rows[words[1]+words[2]] = step
			for i := 0; i < 8; i++ {
				step()
			}
		case "drop":
			delete(rows, words[1]+words[2])
		case "run":
			steps, _ := strconv.Atoi(words[3])
			step := rows[words[1]+words[2]]
			cpu, wall := cpuSeconds(), time.Now()
			for i := 0; i < steps; i++ {
				step()
			}
			reply["wall"], reply["cpu"] = time.Since(wall).Seconds(), cpuSeconds()-cpu
			reply["steps"], reply["loss"] = steps, 0
		}
		if err := answers.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

// build makes a step and tries it.
func build(sess *session.Session, sizes string, number int) (func(), error) {
	var group taskgroup.Group
	var all []kb.Workspace
	tensors := strings.Split(sizes, ",")
	for i := len(tensors) - 1; i >= 0; i-- {
		n, err := strconv.Atoi(tensors[i])
		if err != nil {
			return nil, err
		}
		w := kb.Workspace{SendBuf: kb.NewVector(n, kb.F32), RecvBuf: kb.NewVector(n, kb.F32), OP: kb.SUM, Name: fmt.Sprintf("row%d-%d", number, i)}
		send := w.SendBuf.AsF32()
		for j := range send {
			send[j] = float32(sess.Rank() + 1)
		}
		all = append(all, w)
		group.Add(func() { sess.AllReduce(w) })
	}
	group.Par()
	size := sess.Size()
	for _, w := range all {
		got := w.RecvBuf.AsF32()
		if want := float32(size * (size + 1) / 2); got[0] != want || got[len(got)-1] != want {
			return nil, fmt.Errorf("wrong sum")
		}
	}
	return group.Par, nil
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}
