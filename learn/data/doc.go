// Package data turns files into batches for training.
//
// It follows the data module of TensorLayer (Dong et al., MM'17): samples are read, put in
// order, changed and handed out batch by batch, and the trainer knows nothing of files. What
// differs is that nothing here depends on timing: the batch at a place in training is a pure
// function of the data set, the plan and that place.
//
// # The way data takes
//
//	file, folder ── Open ──▶ Set{Train, Test}        read, checked, kept in memory
//	             ── MeasureNorm(Train) ─▶ Norm       kept with the model
//	             ── Normalize ──▶ Dataset            values as the network wants them
//	             ── Plan at a Cursor ──▶ indices     which samples, in which order
//	             ── Loader ──▶ Batch{X, Y, …, Next}  gathered, augmented, some batches ahead
//
// # Main types
//
//   - Dataset: labelled samples of one shape; Bytes and Floats keep them in memory, Subset,
//     Relabel and Normalize make one of another. Images are height, width, channels; vectors are features.
//   - Targeted: a data set with numbers as targets in place of classes, for models that predict
//     numbers or have several outputs; Numbers keeps one in memory.
//   - Set: what a name or path stands for; Open reads MNIST's IDX files, folders of images, CSV
//     and NumPy's .npz and .npy; Fetch downloads the known sets; an extract of Fashion-MNIST is
//     embedded. ReadImage, ReadRows and ReadSamples read samples to predict. Classes without
//     names are called by their labels and numbered in ascending order of these; a test split of
//     its own brings no further ones. Photos are turned upright as a JPEG's Exif segment says;
//     the orientation in other formats is ignored.
//   - Array: the content of one IDX or .npy file, read and written here.
//   - Plan, Permutation, Cursor: the order. Cursor{Epoch, Position} is all its state: a loader
//     started at Batch.Next gives what the first one would have given next.
//   - Augment: random changes of an image: Crop, Flip, Jitter, Cutout, or one's own.
//   - Loader: batches ahead of their use, on its own goroutines.
//
// # Invariants
//
//   - A random choice depends on (seed, epoch, sample, purpose) alone. The batches are the same
//     bits for any number of goroutines and after any resume; with n ranks of batch B each step
//     holds the samples that one rank of n·B would take.
//   - Labels are in range and float values finite once a Dataset exists.
//   - Batch and Loader.Next allocate nothing in steady state.
//   - A loader's goroutines end before Close returns; it holds at most Ahead+1 batches.
//
// # Failure cases
//
// What is wrong with the input is an *InputError that names the file and the place: byte
// offset and header field, line and column, array, sample. Sizes that files claim are bounded
// by Options.Limit before they are allocated, and memory grows only with bytes that are really
// there, decompressed ones included. Nothing that is read is executed: arrays of Python
// objects are refused. A set that is neither here nor reachable is an error that lists the
// ways to get it.
package data
