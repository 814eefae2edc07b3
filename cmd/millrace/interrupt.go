package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// withInterrupt returns a context that ends with the first SIGINT or SIGTERM,
// so that the verb finishes its step, saves and returns. The second one ends
// the process at once. stop releases the signals and waits for the watcher.
func withInterrupt(parent context.Context, remarks io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-signals:
		case <-quit:
			return
		}
		fmt.Fprintln(remarks, "millrace: interrupted: finishing what has begun (interrupt again to exit now)")
		cancel()
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-quit:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		<-ended
		cancel()
	}
}
