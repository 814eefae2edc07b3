package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"millrace.dev/bench/harness"
)

// product is C[m×n] = op(A)·op(B) with op(A) m×k; A or B may be stored transposed.
type product struct {
	m, n, k int
	flags   string // "", ":tA" or ":tB"
}

func (p product) String() string { return fmt.Sprintf("%dx%dx%d%s", p.m, p.n, p.k, p.flags) }

func (p product) flops() float64 { return 2 * float64(p.m) * float64(p.n) * float64(p.k) }

// bytes is what has to move at least: both operands in, the result out.
func (p product) bytes() int { return 4 * (p.m*p.k + p.k*p.n + p.m*p.n) }

var squares = []product{{256, 256, 256, ""}, {512, 512, 512, ""}, {1024, 1024, 1024, ""}, {2048, 2048, 2048, ""}}

// skinny are products of training steps: dense layers and convolutions, forward and backward.
var skinny = []product{
	{64, 512, 3136, ""}, {196, 64, 576, ""}, {3136, 64, 147, ""}, {16, 256, 784, ""},
	{64, 256, 784, ""}, {784, 256, 64, ":tA"}, {1, 256, 784, ""}, {4, 512, 3136, ""},
	{64, 3136, 512, ":tB"}, {12544, 64, 800, ""}, {16384, 16, 144, ""}, {4096, 32, 288, ""},
}

// gemm races float32 matrix products against oneDNN; numpy's OpenBLAS runs along, shown only.
func gemm(ctx context.Context, s *setting, r *harness.Report) error {
	pace := harness.Pace{Burst: 60 * time.Millisecond, Rounds: 15}
	if s.quick {
		pace = harness.Pace{Burst: 20 * time.Millisecond, Rounds: 7}
	}
	c := &crew{}
	defer c.close()
	limits, err := s.limits(ctx, c, r)
	if err != nil {
		return err
	}
	for _, threads := range threadCounts {
		peers, err := c.start(ctx, s.ours(threads), s.oneDNN(threads), s.numpy(threads))
		if err != nil {
			return err
		}
		ratios := 0.0
		for _, p := range append(append([]product{}, squares...), skinny...) {
			kind := "skinny"
			if p.m == p.n && p.n == p.k {
				kind = "square"
			}
			rows, err := raceProduct(ctx, peers, p, threads, kind, limits, pace, r)
			if err != nil {
				return err
			}
			if kind == "skinny" {
				ratios += math.Log(rows[0].Ratio)
			}
			r.Rows = append(r.Rows, rows...)
		}
		r.Rows = append(r.Rows, harness.Row{
			Row: fmt.Sprintf("skinny/geomean/%dt", threads), Clock: clockOf(threads), Who: "oneDNN",
			Ours: math.NaN(), Peer: math.NaN(), Limit: math.NaN(), Spread: math.NaN(),
			Ratio: math.Exp(ratios / float64(len(skinny))),
		})
	}
	c.describe(r)
	r.Notes = append(r.Notes, "figures in GF/s, ratio is ours over the peer's: higher is better; operands random in [-1, 1), in place from call to call")
	return nil
}

// clockOf is the clock that judges races of so many threads.
func clockOf(threads int) harness.Clock {
	if threads == 1 {
		return harness.CPU
	}
	return harness.Wall
}

// raceProduct gives the row against oneDNN first, then, for squares, that against the ceiling.
func raceProduct(ctx context.Context, peers []*harness.Peer, p product, threads int, kind string, limits *harness.Limits, pace harness.Pace, r *harness.Report) ([]harness.Row, error) {
	name := fmt.Sprintf("%s/%s/%dt", kind, p, threads)
	if kind == "square" {
		name = fmt.Sprintf("%s/%d/%dt", kind, p.m, threads)
	}
	progress(name)
	var field []*harness.Entrant
	for i, label := range []string{"millrace", "oneDNN", "numpy"} {
		field = append(field, &harness.Entrant{Peer: peers[i], Row: p.String(), Variant: "gemm", Label: label})
	}
	if err := harness.Race(ctx, field, pace); err != nil {
		return nil, err
	}
	r.Stand(name, field)
	clock := clockOf(threads)
	bound := p.flops() / limits.Seconds(threads, p.flops(), float64(p.bytes()), p.bytes()) / 1e9
	row := harness.Row{Row: name, Unit: "GF/s", Clock: clock, Who: "oneDNN", Limit: bound, Spread: math.NaN()}
	row.Ours, row.Peer = p.flops()/field[0].Median(clock)/1e9, p.flops()/field[1].Median(clock)/1e9
	row.Ratio = row.Ours / row.Peer
	var failures []string
	for _, e := range field[:2] {
		if e.Failure != nil {
			failures = append(failures, e.Failure.Error())
		}
	}
	if row.Missing = strings.Join(failures, "; "); row.Missing == "" {
		row.Spread = harness.Spread(clock, field[1], field[0])
	}
	if kind != "square" {
		return []harness.Row{row}, nil
	}
	ceiling := row
	ceiling.Row, ceiling.Who = name+"/ceiling", "fused multiply-add"
	ceiling.Peer = limits.Flops[threads] / 1e9
	ceiling.Ratio, ceiling.Spread = ceiling.Ours/ceiling.Peer, math.NaN()
	return []harness.Row{row, ceiling}, nil
}
