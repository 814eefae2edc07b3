package train

import (
	"context"
	"fmt"
	"testing"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

type printer struct{}

func (printer) Window(p Progress)          { fmt.Printf("%+v\n", p) }
func (printer) Epoch(e Epoch)              { fmt.Println(e.Number, e.Train.Accuracy(), e.Valid.Accuracy(), e.Duration) }
func (printer) CheckpointFailed(err error) { fmt.Println(err) }

func TestSmoke(t *testing.T) {
	set, err := data.Open("fashion-mnist-mini", data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	norm, _ := data.MeasureNorm(set.Train)
	tr, _ := data.Normalize(set.Train, norm)
	va, _ := data.Normalize(set.Test, norm)
	for _, name := range []string{"cnn", "lenet"} {
		m, err := nn.ByName(name, set.Train.Shape(), 10)
		if err != nil {
			t.Fatal(err)
		}
		e, err := cpu.New(2)
		if err != nil {
			t.Fatal(err)
		}
		epochs := 8
		tn, err := New(Config{Model: m, Loss: nn.Loss{Kind: nn.CrossEntropy}, Optimizer: optim.Adam(), Schedule: optim.OneCycle(0.003, epochs*10000/64),
			Train: tr, Valid: va, Batch: 64, Epochs: epochs, Seed: 1, Engine: e, Threads: e, Choices: []int{1, 2}, Dir: t.TempDir(), Observer: printer{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := tn.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
}
