// Package report writes a field plan as one HTML file that needs nothing else: no network, no fonts, no libraries.
//
// [Write] fills report.html, which holds its own style and script, with the plan's figures and data. The page shows the map
// (sensors coloured by load, links, stops, tours, zones, hot spots; it pans and zooms by mouse, touch and keyboard), the
// certificate, how the time is spent, the histogram of loads, the stops as a table, what is not served, and sliders over a
// whatif.Grid: each position of the sliders is a plan that was computed beforehand, and the page says so.
//
// Bounds: at most 100,000 sensors are drawn (the busiest), 500 stops and 1,000 unserved sensors are
// listed; the page says how many are left out and which file has them all.
//
// Ids come from input files: html/template escapes them in the text, encoding/json in the data, and the script only ever sets
// text content.
package report
