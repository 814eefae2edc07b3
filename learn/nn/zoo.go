package nn

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"millrace.dev/learn/tensor"
)

// zoo holds the models that can be asked for by name. Each takes a sample's shape (images are
// [H W C]) and the number of classes, and ends in logits.
var zoo = map[string]func(shape tensor.Shape, classes int) (*Model, error){
	"mlp":      mlp,
	"lenet":    lenet,
	"cnn":      cnn,
	"resnet20": resnet20,
}

// ZooNames lists the models that ByName knows.
func ZooNames() []string {
	names := make([]string, 0, len(zoo))
	for n := range zoo {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// ByName makes a model of the zoo for samples of a shape.
func ByName(name string, shape tensor.Shape, classes int) (*Model, error) {
	make, ok := zoo[name]
	if !ok {
		return nil, &UnknownModelError{name}
	}
	if name != "mlp" && len(shape) != 3 {
		return nil, &ModelError{name, fmt.Errorf("it wants images [height width channels], the samples have shape %v; mlp takes any", shape)}
	}
	return make(shape, classes)
}

// UnknownModelError says that the zoo has no model of a name.
type UnknownModelError struct{ Name string }

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("unknown model %q; known are %s", e.Name, strings.Join(ZooNames(), ", "))
}

// BadInput marks the error as the fault of what was asked.
func (e *UnknownModelError) BadInput() bool { return true }

// mlp has one hidden layer of 256 units.
func mlp(shape tensor.Shape, classes int) (*Model, error) {
	return Sequential("mlp", Input("input", shape...),
		Flatten{}, Dense{Units: 256, Act: ReLU, Init: HeNormal()}, Dense{Units: classes})
}

// lenet is LeNet-5's descendant (LeCun et al. 1998) with 5×5 filters: 32, 64, then 512 units.
func lenet(shape tensor.Shape, classes int) (*Model, error) {
	return Sequential("lenet", Input("input", shape...),
		Conv2D{Filters: 32, Kernel: 5, Pad: Same, Act: ReLU}, MaxPool{Size: 2, Pad: Same},
		Conv2D{Filters: 64, Kernel: 5, Pad: Same, Act: ReLU}, MaxPool{Size: 2, Pad: Same},
		Flatten{}, Dense{Units: 512, Act: ReLU, Init: HeNormal()}, Dense{Units: classes})
}

// cnn is a small network of batch-normalised 3×3 filters: 16, pool, 32 twice, pool, 64.
func cnn(shape tensor.Shape, classes int) (*Model, error) {
	conv := func(filters int) []Spec {
		return []Spec{Conv2D{Filters: filters, Kernel: 3, Pad: Same, NoBias: true}, BatchNorm{Act: ReLU}}
	}
	pool := []Spec{MaxPool{Size: 2, Pad: Same}}
	head := []Spec{Flatten{}, Dropout{Rate: 0.4}, Dense{Units: classes}}
	layers := slices.Concat(conv(16), pool, conv(32), conv(32), pool, conv(64), head)
	return Sequential("cnn", Input("input", shape...), layers...)
}

// resnet20 is the residual network of He et al. 2015, section 4.2, with n=3: 16, 32 and 64
// filters and 1×1 projections where the size changes.
func resnet20(shape tensor.Shape, classes int) (*Model, error) {
	in := Input("input", shape...)
	conv := func(name string, filters, kernel, stride int, x *Node) *Node {
		c := Conv2D{Filters: filters, Kernel: kernel, Stride: stride, Pad: Same, NoBias: true}
		return NewLayer(name, c).On(x)
	}
	norm := func(name string, act Act, x *Node) *Node { return NewLayer(name+"_norm", BatchNorm{Act: act}).On(x) }
	x := norm("stem", ReLU, conv("stem", 16, 3, 1, in))
	for stage, filters := range []int{16, 32, 64} {
		for block := range 3 {
			name, stride := fmt.Sprintf("stage%d_block%d", stage+1, block+1), 1
			skip := x
			if stage > 0 && block == 0 {
				stride = 2
				skip = norm(name+"_skip", Linear, conv(name+"_skip", filters, 1, 2, x))
			}
			y := norm(name+"_a", ReLU, conv(name+"_a", filters, 3, stride, x))
			y = norm(name+"_b", Linear, conv(name+"_b", filters, 3, 1, y))
			x = NewLayer(name, Add{Act: ReLU}).On(y, skip)
		}
	}
	out := NewLayer("logits", Dense{Units: classes}).On(GlobalAvgPool{}.On(x))
	return NewModel("resnet20", In(in), Out(out))
}
