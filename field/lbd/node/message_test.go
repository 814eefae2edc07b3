package node

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A frame with its link-layer head and checksum fits IEEE 802.15.4.
func TestFramesFit(t *testing.T) {
	if MaxSize > 127-11 {
		t.Fatalf("frames of %d bytes", MaxSize)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")), From: ID(rapid.Uint16().Draw(t, "from")), To: ID(rapid.Uint16().Draw(t, "to")),
			Flags: rapid.Uint16().Draw(t, "flags"), Energy: rapid.Uint8().Draw(t, "energy"), Wave: Wave{rapid.Uint32().Draw(t, "seq"), ID(rapid.Uint16().Draw(t, "root"))},
			Rank: rapid.Uint16().Draw(t, "rank"), Load: rapid.Uint32().Draw(t, "load"), Peer: ID(rapid.Uint16().Draw(t, "peer")),
			Lo: rapid.Uint32().Draw(t, "lo"), Hi: rapid.Uint32().Draw(t, "hi"), B: rapid.Uint32().Draw(t, "b"), Gate: ID(rapid.Uint16().Draw(t, "gate")),
			Top: rapid.Uint32().Draw(t, "top"), Weak: rapid.Uint8().Draw(t, "weak")}
		if m.Kind.carriesHist() {
			for k := range m.Hist {
				m.Hist[k] = rapid.Uint16().Draw(t, "hist")
			}
		}
		b := m.Append([]byte("x"))
		back, err := Decode(b[1:])
		if err != nil || back != m || len(b)-1 > MaxSize {
			t.Fatalf("%+v, %v, %d bytes", back, err, len(b)-1)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for k := range kinds {
		m := Message{Kind: k, From: 1, To: 2, Load: 3}
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err == nil && !bytes.Equal(m.Append(nil), b) {
			t.Fatalf("%v is written as %v", b, m.Append(nil))
		}
	})
}

// Any sequence of frames leaves a node in one piece: it never panics and never becomes its own parent.
func FuzzNode(f *testing.F) {
	m := Message{Kind: Hello, From: 1, To: Nobody, Wave: Wave{1, 1}, Lo: 1, Hi: 9}
	f.Add(m.Append(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		n := New(Config{ID: 7, Weight: 1, Delay: 4, Slot: 32, Epoch: 1000, Budget: 3, Roam: true})
		n.Start(1)
		now := Time(1)
		for len(text) > 0 {
			size := min(int(text[0])+1, len(text))
			now += Time(size)
			if m, err := Decode(text[1:size]); err == nil && m.From != 7 {
				n.Receive(now, m)
			}
			text = text[size:]
			for _, out := range n.Outbox() {
				if out.To != Nobody {
					n.Sent(now, out, size%3 > 0)
				}
			}
			if at := n.NextWake(); at > 0 && at <= now {
				n.Wake(now)
			}
			if v := n.View(); v.Parent == 7 {
				t.Fatalf("the node is its own parent: %+v", v)
			}
		}
	})
}

// A node knows what it is told and no more: the package imports only the standard library, and messages are flat values.
func TestNodesAreBlind(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if path := strings.Trim(i.Path.Value, `"`); strings.Contains(path, ".") || path == "os" || path == "net" || path == "time" || path == "math/rand" || path == "math/rand/v2" {
				t.Errorf("%s imports %s", file.Name(), path)
			}
		}
	}
	flat(t, reflect.TypeFor[Message]())
	flat(t, reflect.TypeFor[Config]())
}

func flat(t *testing.T, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			flat(t, typ.Field(i).Type)
		}
	case reflect.Array:
		flat(t, typ.Elem())
	case reflect.Float32, reflect.Float64, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.String:
		t.Errorf("%v may carry what a node must not know", typ)
	}
}
