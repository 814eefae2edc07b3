package cluster

import "testing"

func TestRegister(t *testing.T) {
	c := openOwn(t, Config{})
	ctx := patient(t)
	a, b := c.Register("jobs.one.view"), c.Register("jobs.one.view")
	if _, revision, err := a.Load(ctx); err != nil || revision != 0 {
		t.Fatalf("an empty register: %d, %v", revision, err)
	}
	if swapped, err := a.Swap(ctx, []byte("1"), 0); err != nil || !swapped {
		t.Fatal(swapped, err)
	}
	if swapped, err := b.Swap(ctx, []byte("2"), 0); err != nil || swapped {
		t.Fatal("two came first", swapped, err)
	}
	value, revision, err := b.Load(ctx)
	if err != nil || string(value) != "1" {
		t.Fatalf("%q, %v", value, err)
	}
	if swapped, err := b.Swap(ctx, []byte("2"), revision); err != nil || !swapped {
		t.Fatal(swapped, err)
	}
}
