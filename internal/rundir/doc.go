// Package rundir makes and opens the directory that a run owns.
//
// A run is one execution of a verb that leaves something behind. Its directory
// holds
//
//	run.json      what was asked: verb, arguments, settings, seed, versions
//	events.jsonl  signals and decisions, written by package control
//
// and whatever else the verb makes. [Create] names a new directory
// runs/VERB-TIME-N, or takes the one the user gave if it does not exist or is
// empty: a run never writes into a directory that holds something else, and
// never over an earlier run. run.json is written by package durable and
// carries a CRC-32C of its content, which [Dir.Manifest] checks.
//
// Every error that concerns a directory the user named is an [Error], which
// names the directory and counts as bad input.
package rundir
