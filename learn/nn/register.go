package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// registry knows, for each kind of layer, how to read its constants.
var registry = struct {
	sync.RWMutex
	decode map[string]func(json.RawMessage) (Spec, error)
}{decode: map[string]func(json.RawMessage) (Spec, error){}}

// Register makes the kind of S, a plain struct, loadable from saved models. It fails on a kind
// that is taken.
func Register[S Spec]() error {
	var zero S
	kind := zero.Kind()
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.decode[kind]; taken || kind == "" || kind == modelKind {
		return fmt.Errorf("nn: the kind %q is empty or registered already", kind)
	}
	registry.decode[kind] = func(text json.RawMessage) (Spec, error) {
		var s S
		return s, strict(text, &s)
	}
	return nil
}

// strict reads one JSON value that has no field unknown here.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON value")
	}
	return nil
}

func decoderOf(kind string) (func(json.RawMessage) (Spec, error), bool) {
	registry.RLock()
	defer registry.RUnlock()
	d, ok := registry.decode[kind]
	return d, ok
}

// mustRegister is for the kinds of this package; a clash there is a mistake of ours.
func mustRegister(err error) {
	if err != nil {
		panic(err)
	}
}

func init() {
	mustRegister(Register[Dense]())
	mustRegister(Register[Conv2D]())
	mustRegister(Register[DepthwiseConv2D]())
	mustRegister(Register[MaxPool]())
	mustRegister(Register[AvgPool]())
	mustRegister(Register[GlobalAvgPool]())
	mustRegister(Register[GlobalMaxPool]())
	mustRegister(Register[BatchNorm]())
	mustRegister(Register[LayerNorm]())
	mustRegister(Register[Dropout]())
	mustRegister(Register[Flatten]())
	mustRegister(Register[Reshape]())
	mustRegister(Register[Activation]())
	mustRegister(Register[Softmax]())
	mustRegister(Register[Embedding]())
	mustRegister(Register[Add]())
	mustRegister(Register[Concat]())
}
