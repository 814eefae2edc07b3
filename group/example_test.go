package group_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group"
	"millrace.dev/group/collective"
)

// Two workers find the mean of samples of which each has some: at once, by an [group.AllReduce] of a buffer of their own, and step by
// step, by the gradients of a model with one parameter. They run in one process here; in several, or on several machines, they do the same.
func Example() {
	dir, err := os.MkdirTemp("", "group")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	var members []group.Member // the same on all
	for i, name := range []string{"w0", "w1"} {
		members = append(members, group.Member{
			ID: group.ID(i + 1), Name: name, Addr: "unix:" + filepath.Join(dir, name), Host: group.ThisHost(),
		})
	}
	var all sync.WaitGroup
	for rank, samples := range [][]float32{{1}, {2, 4, 6}} {
		all.Go(func() {
			if err := work(context.Background(), members, rank, samples); err != nil {
				fmt.Println(members[rank].Name, err)
			}
		})
	}
	all.Wait()

	// Output:
	// 4 samples with a sum of 13
	// step 1 of 4 samples: the parameter is 1.625
	// step 2 of 4 samples: the parameter is 2.4375
	// step 3 of 4 samples: the parameter is 2.84375
}

func work(ctx context.Context, members []group.Member, rank int, samples []float32) error {
	network, err := fabric.NewSockets(fabric.Options{Name: members[rank].Name})
	if err != nil {
		return err
	}
	defer network.Close()
	w, err := group.Start(ctx, group.Config{
		Group: "example", Self: members[rank], Founders: members, Network: network,
		Elements: 1, Suspect: time.Minute, // no loss is to be noticed here
	})
	if err != nil {
		return err
	}
	defer w.Close()

	sum := float32(0)
	for _, x := range samples {
		sum += x
	}
	own := []float32{float32(len(samples)), sum}
	if err := group.AllReduce(ctx, w, "count and sum", own, collective.Sum); err != nil {
		return err
	}
	if rank == 0 {
		fmt.Printf("%g samples with a sum of %g\n", own[0], own[1])
	}

	parameter := float32(0)
	for range 3 {
		step, err := w.Begin(ctx)
		if err != nil {
			return err
		}
		step.Weigh(uint64(len(samples)))
		w.Gradients()[0] = parameter - sum/float32(len(samples)) // the mean of these samples
		result, err := step.Commit(ctx, group.Report{})
		if err != nil {
			return err
		}
		if result.Outcome == group.Apply {
			parameter -= result.Mean[0] / 2
		}
		if rank == 0 {
			fmt.Printf("step %d of %d samples: the parameter is %g\n", result.Step, result.Weight, parameter)
		}
	}
	return w.Settle(ctx)
}
