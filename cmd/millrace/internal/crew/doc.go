// Package crew trains one model with several worker processes. It plugs package learn, which trains,
// and package group, which keeps workers together, into each other, and starts the processes.
//
// A Member is a worker's side: it makes a group.Worker of a trainer, as its train.Group, and the
// trainer's numbers a group.State for newcomers. What the group has decided goes to the trainer's
// journal as decisions with what they should bring; Journal puts the journals of all workers
// together.
//
// A Launcher is the parent of a run's workers on this machine: it starts them as its children, holds
// their number at what was asked for, shows their progress and keeps the membership service. What
// it tells a child comes as lines of JSON on the child's standard input, which ends when the parent
// does: then the child leaves after the step under way. What a child has to say comes as lines of
// JSON on its standard output. Control asks a launcher from another process, and Prometheus
// does where a port was opened for it.
//
// Replay runs the steps of a crew's logs again, one share after the other, and compares.
//
// # Files
//
// A run that workers have trained holds, besides what every run does,
//
//	group.json              while it goes on: where its launcher can be asked
//	workers/1, 2, …         one for each launcher that worked on it: session.json, and in a
//	                        directory for each worker its journal and its log of steps
//
// Sockets and the records of the membership lie in a directory of package scratch: what a launcher and workers
// that were all killed leave there the next launcher removes.
//
// # Invariants
//
// At any time at most one worker writes what the run leaves behind; what a run leaves is that of a
// run of one process. A child that dies takes nothing with it that the others need. A worker that runs
// does not outlive its parent by more than a few seconds.
package crew
