package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// withInterrupt returns a context that ends with the first SIGINT, SIGTERM or
// SIGHUP, so that the verb finishes its step, saves and returns. A SIGINT or
// SIGTERM after that ends the process at once; a SIGHUP does not, since a
// terminal that is closed may send several. What nohup has started keeps
// ignoring SIGHUP. stop releases the signals and waits for the watcher.
func withInterrupt(parent context.Context, remarks io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	closed := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(closed, syscall.SIGHUP)
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-signals:
		case <-closed:
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
		signal.Stop(closed)
		close(quit)
		<-ended
		cancel()
	}
}
