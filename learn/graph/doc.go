// Package graph is the intermediate representation of a computation: operations in static
// single assignment form, with shapes and element types known for every value.
//
// A Graph is a list of Nodes in an order in which each node's inputs are made before it. A Node
// applies an operation, named by a string and described by an OpDef, to Values and makes new
// Values; its constants (strides, axes, rates) stand in a typed Attr. Four operations make
// values from outside: "input" (bound anew at each run), "param" (trained, lives in the flat
// parameter vector), "state" (kept between runs but not trained: running statistics, optimiser
// slots) and "const".
//
// An operation changes no value, except those inputs that its OpDef lists in Mutates (an
// optimiser's update, batch norm's running statistics), and then only a param or a state.
// Every reader of the old content stands before the mutating node; Check enforces it. A reshape
// is a view of its operand and counts as the operand itself.
//
// The way through: builder methods (MatMul, Conv2D, …) infer shapes and append nodes, and keep
// the first error with the layer path at fault until Err is asked; Gradients appends the
// reverse-mode computation, each operation giving its vector-Jacobian product as graph
// operations again; Optimize canonicalises, fuses and drops what no output needs (its effect is
// shown by example in testdata/optimize.txt); ScheduleUpdates puts each optimiser's update right
// behind its gradient, and UpdateStage tells the nodes of a split step's two halves apart. String
// prints the graph, Check verifies every rule of this page.
//
// Register adds an operation of a user's own: shape rule, vector-Jacobian product and a forward
// function in Go that every engine can fall back on.
//
// Failures are reported as *ShapeError with the layer's path, the operation and the shapes.
package graph
