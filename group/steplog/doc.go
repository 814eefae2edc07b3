// Package steplog writes and reads what a group did in each step, so that a serial program can do
// the same again and compare bit for bit.
package steplog
