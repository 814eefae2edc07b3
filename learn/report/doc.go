// Package report draws what a training run did: Curves writes loss and accuracy over the epochs
// as an SVG image, Page the whole run as one HTML file that needs nothing else.
//
// Both follow the reader's light or dark theme. All text that comes from outside (names of
// classes, settings, reasons) is escaped, and the page runs no script.
package report
