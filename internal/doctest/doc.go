// Package doctest runs the commands of the manual, so that a page cannot
// promise what the program does not do.
//
// It reads the fenced code blocks of Markdown files. The blocks in the language
// sh of one page are run one after the other by sh -eu in one empty directory
// (whose name is also HOME), with millrace in the PATH; a command that fails
// fails the block. Words after the language say how a block is run:
//
//	```sh                  run it
//	```sh checkout         run it in a copy of the source tree
//	```sh no-run REASON    do not; the reason is for the reader of the source
//
// A block in the language output that follows at once holds lines that must
// come in the output in this order; … stands for any text. Other languages for
// shell commands are refused, since nothing would run them. A block of Go names
// a file of the source tree, as in "go control/example_test.go", and must stand
// there, where the compiler and the tests see it.
//
// Links lead to files and headings that exist. The title of a link to a table of
// results, as in (bench/results/group.md "row: 0.58"), names rows and the figures
// that the text gives for their ratios: both must agree.
package doctest
