// Package optim turns a graph with gradients into one that trains.
//
// An Optimizer is a rule of package graph with its constants; Apply appends a clipping factor
// where asked and one update a parameter. A Schedule gives the learning rate of each step as a
// pure function, so that a resumed run has the rates of one that was not interrupted. Hyper
// packs what changes from step to step into the graph's "hyper" input:
//
//	Graph.Train ── gradients ──▶ Optimizer.Apply ── updates ──▶ engine.Compile
//	step ── Schedule ──▶ rate ── Hyper ──▶ input "hyper" of that step's run
//
// An Optimizer with Decay nil lets the rule's weight decay pull at every param; package train
// fills in the model's own choice, which spares biases and normalisations. Errors are those of the graph.
package optim
