// Package metrics shows what workers of a group do to Prometheus and its kin, in its text format.
//
// [Handler] asks each worker for its [group.Status] whenever it is asked itself; nothing is counted
// twice, and nothing is kept between two answers. All numbers carry the labels group and worker:
//
//	millrace_group_steps_total                 steps that the group has committed, as far as this worker knows
//	millrace_group_views_total                 lists of members that have followed each other
//	millrace_group_members                     of the view in force; 0: the worker is in none
//	millrace_group_lives_total                 incarnations: more than one after the worker was cut off
//	millrace_group_wait_seconds_total          time for which the trainer waited for a step's commit
//	millrace_group_sent_bytes_total            over connections; shared memory moves nothing
//	millrace_group_received_bytes_total        likewise
//	millrace_group_stale_frames_total          frames of earlier views that came late and were dropped
//	millrace_group_refused_connections_total   dropped as no valid stream, or as not allowed
//
// A worker that does not answer is left out. [Serve] opens a port, beyond loopback with mutual TLS only.
package metrics

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/internal/host"
)

// Path is where metrics are served.
const Path = "/metrics"

// metric is a number of a status.
type metric struct {
	describe *prometheus.Desc
	kind     prometheus.ValueType
	value    func(*group.Status) float64
}

func counter(name, help string, value func(*group.Status) float64) metric {
	return metric{prometheus.NewDesc("millrace_group_"+name, help, []string{"group", "worker"}, nil), prometheus.CounterValue, value}
}

func gauge(name, help string, value func(*group.Status) float64) metric {
	m := counter(name, help, value)
	m.kind = prometheus.GaugeValue
	return m
}

var all = []metric{
	counter("steps_total", "Steps that the group has committed.", func(s *group.Status) float64 { return float64(s.Step) }),
	counter("views_total", "Lists of members that have followed each other.", func(s *group.Status) float64 { return float64(s.Epoch) }),
	gauge("members", "Members of the view in force.", func(s *group.Status) float64 { return float64(len(s.Members)) }),
	counter("lives_total", "Incarnations of the worker: more than one after it was cut off.", func(s *group.Status) float64 { return float64(s.Lives) }),
	counter("wait_seconds_total", "Time for which the trainer waited for the commit of its steps.", func(s *group.Status) float64 { return s.Waited }),
	counter("sent_bytes_total", "Bytes sent over connections to other workers.", func(s *group.Status) float64 { return float64(s.Sent) }),
	counter("received_bytes_total", "Bytes received over connections from other workers.", func(s *group.Status) float64 { return float64(s.Received) }),
	counter("stale_frames_total", "Frames of earlier views that came late and were dropped.", func(s *group.Status) float64 { return float64(s.Stale) }),
	counter("refused_connections_total", "Connections dropped as no valid stream, or as not allowed.", func(s *group.Status) float64 { return float64(s.Refused) }),
}

// answers are the workers that have answered, as metrics.
type answers []group.Status

// Describe implements prometheus.Collector.
func (answers) Describe(out chan<- *prometheus.Desc) {
	for _, m := range all {
		out <- m.describe
	}
}

// Collect implements prometheus.Collector.
func (a answers) Collect(out chan<- prometheus.Metric) {
	for i := range a {
		for _, m := range all {
			out <- prometheus.MustNewConstMetric(m.describe, m.kind, m.value(&a[i]), a[i].Group, a[i].Worker)
		}
	}
}

// Handler answers with the metrics of the workers that ask returns, each of another name.
func Handler(ask func(context.Context) []group.Status) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		registry := prometheus.NewRegistry()
		registry.MustRegister(answers(ask(r.Context())))
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// Server serves metrics at a port.
type Server struct {
	listener net.Listener
	scheme   string
	http     http.Server
	running  sync.WaitGroup
}

// patience bounds how long who asks may take to do so.
const patience = 2 * time.Second

// Serve opens a port at addr, which is HOST:PORT, and answers there. Beyond loopback that needs a machine's keys,
// and whoever asks needs keys of the same authority.
func Serve(addr string, at keys.Place, ask func(context.Context) []group.Status) (*Server, error) {
	listener, scheme, err := listen(addr, at)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, Handler(ask))
	s := &Server{listener: listener, scheme: scheme, http: http.Server{
		Handler: mux, ReadHeaderTimeout: patience, ReadTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // of strangers' mistakes
	}}
	s.running.Go(func() { _ = s.http.Serve(listener) }) // ends with Close
	return s, nil
}

// URL is what to ask.
func (s *Server) URL() string { return s.scheme + "://" + s.listener.Addr().String() + Path }

// Close ends the server and its connections.
func (s *Server) Close() {
	_ = s.http.Close() // nothing is lost with it
	s.running.Wait()
}

// listen opens a port, and says by which scheme it is asked.
func listen(addr string, at keys.Place) (l net.Listener, scheme string, err error) {
	if host.LoopbackPort(addr) {
		l, err = net.Listen("tcp", addr)
		return l, "http", err
	}
	identity, err := at.Load()
	if err != nil {
		return nil, "", err
	}
	if identity == nil {
		return nil, "", &fabric.InsecureError{Addr: addr}
	}
	l, err = tls.Listen("tcp", addr, identity.TLS())
	return l, "https", err
}
