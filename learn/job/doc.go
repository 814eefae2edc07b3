// Package job is one training run from settings to results: what the verb train does.
//
// Settings are plain values, as they stand in a run's run.json. New opens the data set, makes
// the model and checks that everything fits, and leaves nothing behind when it does not; Start
// begins the run in its directory, Resume goes on with one, and Run trains, tests, and writes
// the results:
//
//	run.json         the settings, written by Start
//	events.jsonl     signals and decisions, by the trainer
//	checkpoints/     the newest two checkpoints, by the trainer
//	model.millrace   the trained model
//	curves.svg       loss and accuracy over the epochs
//	report.html      all of it on one page
//
// The model is written once it has been measured, so that there is none of weights that give no
// numbers. CheckRoom compares the free space with what the files take, and Start and Resume the
// memory with what a step takes, before anything is written; a result that cannot be written is
// a *WriteError, and a resumed run writes it.
//
// A run that was interrupted, by Ctrl-C or by the loss of the machine, is resumed with its own
// settings and ends with the same bits as one that was not. Its time is the sum over its
// processes, by the journal.
package job
