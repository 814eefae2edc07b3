// Package nn builds models out of layers, after TensorLayer's layer module (Dong et al., MM'17).
//
// A Spec is a layer's constants (Dense{Units: 10}): a plain struct that is saved with the
// model as JSON and knows how to append its operations to a graph. A Layer is a Spec with a
// name; applied to Nodes it makes new Nodes, and applied twice it shares its weights. A Model is
// what lies between some input Nodes and some output Nodes; it is a Spec itself and so can be a
// layer of another model.
//
//	x := nn.Input("image", 28, 28, 1)
//	h := nn.Conv2D{Filters: 32, Kernel: 5, Pad: nn.Same, Act: nn.ReLU}.On(x)
//	h = nn.MaxPool{Size: 2}.On(h)
//	h = nn.Flatten{}.On(h)
//	m, err := nn.NewModel("small", nn.In(x), nn.Out(nn.Dense{Units: 10}.On(h)))
//
// Shapes are given without the batch and are inferred from the inputs. NewModel orders the
// layers, names the nameless ones kind_1, kind_2, …, and builds the graph once, so that every
// mistake of shape is found there, with the layer's path and the shapes at fault.
//
// A model is saved as data: its description in JSON (Model.MarshalJSON, ParseModel) names each
// layer's kind and holds its constants, models that are layers included. A layer of one's own
// is a type that implements Spec; Register makes it loadable. No code is saved or executed.
//
// Weights are named path/name ("small/conv2d_1/kernel"), declared in the order of the forward
// pass, and initialised from (seed, name) alone. Model.Graph appends the model to a graph for a
// batch size and a mode; two graphs of one model name the same weights.
package nn
