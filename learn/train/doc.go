// Package train turns a model, a data set and an engine into a trained model.
//
// A Trainer owns the flat vectors and one compiled program for each batch size it meets (the
// last batch of an epoch may be short). Its loop takes a batch, runs one step, counts, and at
// every window and every epoch's end gives signals to a control.Loop, whose policies may lower
// the learning rate, stop early, or choose another number of threads. A decision takes effect
// between two steps.
//
// A model of one output learns classes from a data set with labels. Models with several inputs or
// outputs, and those that predict numbers, learn from a data.Targeted one, whose rows hold the
// values of all inputs and the targets of all outputs; each output has its own loss, and their
// sum is lowered.
//
// Main types: Config says what and how; Trainer runs it and tells an Observer; Evaluator
// measures a model on a data set; Metrics are plain sums; a Group joins the trainers of
// several workers. StepGraph and EvalGraph are the graphs, for those who write their own loop.
//
// # State
//
// All that the future of a run depends on is in State (step, data cursor, sums of the running
// epoch), in the vectors and in the journal up to that step; every random choice is a function
// of the seed and of the place in the data. A checkpoint holds state and vectors in one file
// with a checksum, under a new name; the one before it is kept until the new one has been read
// back; damaged ones are passed over, and Origin says so. A run resumed from a checkpoint takes
// the same steps, to the bit, as one that was never interrupted. A checkpoint holds no wall-clock
// time: two runs alike write equal bytes.
//
// With Config.Stop the weights with the lowest validation loss are kept beside the current ones,
// in checkpoints as well, and are the run's result.
//
// # Failure
//
// A step with a loss or gradient norm that is not finite ends the run with the layer named,
// before any weight has changed; so does such a number in a validation, and a weight at the end. A
// checkpoint or journal that cannot be written (a full disk) is reported to the observer and
// training goes on. When the context ends the current step is finished, a checkpoint is written
// and Run returns the context's error.
package train
