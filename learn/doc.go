// Package learn is the root of millrace's deep-learning engine: layers and models in the
// spirit of TensorLayer (Dong et al., MM'17), compiled to programs that keep every core of
// an ordinary machine busy.
//
// The way from a model to a trained network:
//
//	nn.Model ── Graph(batch, mode) ──▶ graph.Graph      SSA operations with shapes
//	         ── graph.Gradients ─────▶ graph.Graph      reverse mode, graph to graph
//	         ── optim.Apply ─────────▶ graph.Graph      one update operation a parameter
//	         ── graph.Optimize ──────▶ graph.Graph      canonicalise, fuse, drop dead code
//	         ── engine.Compile ──────▶ engine.Program   scheduled, one arena, immutable, shared
//	         ── Program.Run(replica) ▶ loss             no allocation
//
// Packages, from the ground up:
//
//   - tensor: element types, shapes, dense buffers.
//   - graph: the intermediate representation, operations, gradients, passes.
//   - engine: the seam between a graph and what executes it; vectors and replicas.
//   - engine/oracle: plain Go in float64, obvious and slow; what everything is tested against.
//   - engine/cpu: kernels in assembly, a worker pool, a planned arena.
//   - nn: layers and models. optim: optimisers and schedules. data: data sets. train: the trainer.
//   - saved: trained models in files. report: curves and pages. job: a whole run, from settings
//     to results.
//
// Invariants: the same run gives the same bits for any number of threads; every random choice
// is a function of (seed, epoch, sample or step, purpose); weights, gradients and each optimiser
// slot stand in one flat vector per model; a step in steady state allocates nothing.
//
// Activations are NHWC, convolution filters are [KH][KW][C/groups][OC], dense weights [in][out].
package learn
