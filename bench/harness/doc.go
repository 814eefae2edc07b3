// Package harness races our code against peers and holds the outcome against the bars.
//
// A peer is a process that answers one-line requests on stdin with one line of JSON: building,
// compiling and warming up happen under "load", and "run" does a number of steps and reports its
// own wall and CPU seconds. All peers of a row stay alive, and Race lets them take turns, one
// process at a time, so that what the machine does meanwhile falls on all alike. Whoever has not the
// turn is stopped (SIGSTOP), with all its threads: they would spin, or collect garbage, into the
// turn of another. Medians over the turns make Rows, Bars judges them, Report prints them.
//
// One-thread figures are judged by CPU time, which is wall time on an idle machine and hardly
// moves on a busy one; figures of more threads by wall time. Both are printed. A peer that cannot
// do a row (an error under "load") is left out of it and named in the report.
package harness
