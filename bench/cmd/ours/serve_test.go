package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"millrace.dev/learn/engine/cpu"
)

func TestServe(t *testing.T) {
	engine, err := cpu.New(1)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	requests := []string{
		"info",
		"load mlp/B=2 step", "run mlp/B=2 step 50", "drop mlp/B=2 step", "run mlp/B=2 step 1",
		"first 3x4x5:tA gemm", "run 3x4x5:tA gemm 2",
		"load mlp step", "load nothing/B=1 step", "load 3x4 gemm", "load mlp/B=2 other", "run", "",
	}
	var out bytes.Buffer
	if err := serve(strings.NewReader(strings.Join(requests, "\n")+"\n"), &out, peerInfo{Name: "millrace"}, builder{engine}.build); err != nil {
		t.Fatal(err)
	}
	type reply struct {
		Name, Error string
		Params      int
		burst
	}
	var replies []reply
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("answer %q: %v", lines.Text(), err)
		}
		replies = append(replies, r)
	}
	if len(replies) != len(requests) {
		t.Fatalf("%d answers to %d requests", len(replies), len(requests))
	}
	for i, r := range replies {
		bad := i == 4 || i >= 7
		if (r.Error != "") != bad {
			t.Errorf("%q is answered with error %q", requests[i], r.Error)
		}
	}
	if replies[0].Name != "millrace" || replies[1].Params != 203530 {
		t.Errorf("info and load are answered by %+v and %+v", replies[0], replies[1])
	}
	if r := replies[2]; r.Steps != 50 || r.Wall <= 0 || r.CPU <= 0 || r.Loss <= 0 || r.Mallocs > 10 {
		t.Errorf("50 steps are answered by %+v", r)
	}
}
