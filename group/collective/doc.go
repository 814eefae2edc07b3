// Package collective lets the members of a view compute and exchange vectors over connections.
package collective
