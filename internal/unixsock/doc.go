// Package unixsock knows what a Unix socket carries besides bytes: whose process is at the other end, and
// open files.
//
// Every socket of this module that lies on one machine follows one rule, which [CheckUser] applies at both
// ends: the other process acts for the same user as this one, or for root. Root is let in because nothing
// keeps it out: it reads and writes this process's memory and files as it likes. A process of root, on the
// other hand, trusts no other user. What counts is the effective user at the time of connect or listen, as
// the system notes it; neither process can change that note. Systems other than Linux tell no user, so that
// the check refuses everybody there.
//
// [Files] takes the open files that came along with a message. Whoever may connect may send any number of
// them: they are either all the caller's or all closed.
package unixsock
