package protocol

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into testdata/*.txt")

// TestInteraction runs the cases of testdata. A file is blocks of commands, a line ----, and what they
// lead to; lines with # are remarks. The members' machines are joined by queues that only move by
// command:
//
//	group service|majority NAME...  founders
//	prepared NAME...|all step=N [weight=N] [bad=NAME] [unready=NAME] [hash=N]
//	                                bad: not finite there; unready: its state is not there yet
//	deliver [FROM>TO]...            all messages until none are left, or what is under way now
//	drop [FROM]>[TO]...             messages that are lost
//	kill NAME...                    a machine ends, and what is under way to it is lost
//	hold NAME / release NAME        nothing is delivered to a frozen member
//	suspect NAME NAME...            the first suspects the others
//	beat NAME NAME...               the first tells the others its view
//	service NAME [error|lost]       the authority answers; lost: takes it, and the answer gets lost
//	tick NAME                       the time comes that a member waits for
//	wish NAME leave|NAME            it wants to leave, or to let another in
//	status                          of all members
func TestInteraction(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			table := &table{names: names{}}
			got := table.play(string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				was, is := strings.Split(string(text), "\n"), strings.Split(got, "\n")
				for i := range min(len(was), len(is)) {
					if was[i] != is[i] {
						t.Fatalf("%s:%d:\nwant %s\n got %s\n\n%s", file, i+1, was[i], is[i], strings.Join(is[max(0, i-10):min(i+10, len(is))], "\n"))
					}
				}
				t.Fatalf("%s has %d lines, want %d", file, len(is), len(was))
			}
		})
	}
}

// table is where the members of a case sit.
type table struct {
	names     names
	authority Authority
	order     []*seat
	queue     []envelope
	now       time.Time
	epoch     uint64 // of the service
	last      *Change
	out       strings.Builder
}

type seat struct {
	member Member
	m      *Machine
	dead   bool
	held   bool
	ask    *Ask
	at     time.Time
}

type envelope struct {
	from, to ID
	message  Message
}

// play returns a text with what its commands lead to.
func (t *table) play(text string) string {
	var commands []string
	skip := false
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\n"); {
		case skip && line != "":
		case skip || line == "" || strings.HasPrefix(line, "#"):
			skip = false
			t.printf("%s", line)
		case line == "----":
			skip = true
			t.printf("%s\n----", strings.Join(commands, "\n"))
			for _, c := range commands {
				t.command(strings.Fields(c))
			}
			commands = nil
		default:
			commands = append(commands, line)
		}
	}
	return t.out.String()
}

func (t *table) printf(format string, args ...any) { fmt.Fprintf(&t.out, format+"\n", args...) }

// seats returns the members of some names, or all that live.
func (t *table) seats(list ...string) []*seat {
	var seats []*seat
	for _, s := range t.order {
		all := len(list) > 0 && list[0] == "all" && !s.dead && !s.m.ended && s.m.View().Epoch > 0
		if slices.Contains(list, s.member.Name) || all {
			seats = append(seats, s)
		}
	}
	return seats
}

func (t *table) seat(id ID) *seat { return t.order[id-1] }

func (t *table) sit(name string) *seat {
	s := &seat{member: Member{ID: ID(len(t.order) + 1), Name: name, Addr: name, Host: name}}
	t.order = append(t.order, s)
	t.names[s.member.ID] = name
	return s
}

func (t *table) command(words []string) {
	options := map[string]string{}
	words = slices.DeleteFunc(words, func(w string) bool {
		key, value, is := strings.Cut(w, "=")
		if is {
			options[key] = value
		}
		return is
	})
	verb, args := words[0], words[1:]
	switch verb {
	case "group":
		t.found(args[0], args[1:])
	case "prepared":
		for _, s := range t.seats(args...) {
			t.prepare(s, options)
		}
	case "deliver":
		t.deliver(args)
	case "drop":
		for _, pair := range args {
			t.queue = slices.DeleteFunc(t.queue, func(e envelope) bool { return t.is(e, pair) })
		}
	case "kill":
		for _, s := range t.seats(args...) {
			s.dead = true
			t.queue = slices.DeleteFunc(t.queue, func(e envelope) bool { return e.to == s.member.ID })
		}
	case "hold", "release":
		t.seats(args...)[0].held = verb == "hold"
	case "suspect":
		for _, o := range t.seats(args[1:]...) {
			t.handle(t.seats(args[0])[0], Suspect{o.member.ID})
		}
	case "beat":
		s := t.seats(args[0])[0]
		for _, o := range t.seats(args[1:]...) {
			t.queue = append(t.queue, envelope{s.member.ID, o.member.ID, &Beat{Epoch: s.m.View().Epoch}})
		}
	case "service":
		t.service(t.seats(args[0])[0], append(args, "")[1])
	case "tick":
		s := t.seats(args[0])[0]
		if t.now.Before(s.at) {
			t.now = s.at
		}
		t.handle(s, Tick{})
	case "wish":
		s := t.seats(args[0])[0]
		if args[1] == "leave" {
			t.handle(s, Wish{Leave: true})
			break
		}
		joiner := t.sit(args[1])
		joiner.m, _ = NewJoiner(Config{Self: joiner.member, Authority: t.authority})
		t.handle(s, Wish{Join: []Member{joiner.member}})
	case "status":
		for _, s := range t.seats("all") {
			t.printf("%s: view %d (%s), step %d%s", s.member.Name, s.m.View().Epoch, t.names.members(s.m.View().Members), s.m.Committed(), waits(s.m))
		}
	default:
		t.printf("there is no command %q", verb)
	}
}

func waits(m *Machine) string {
	if w := m.Waiting(); w != "" {
		return ", waits for " + w
	}
	return ""
}

func (t *table) found(authority string, list []string) {
	t.authority, t.epoch, t.now = Service, 1, epoch0
	if authority == "majority" {
		t.authority = Majority
	}
	view := View{Epoch: 1}
	for _, name := range list {
		view.Members = append(view.Members, t.sit(name).member)
	}
	for _, s := range t.order {
		var err error
		if s.m, err = New(Config{Self: s.member, Authority: t.authority}, view); err != nil {
			t.printf("%v", err)
		}
	}
}

func (t *table) prepare(s *seat, options map[string]string) {
	number := func(key string, otherwise uint64) uint64 {
		if n, err := strconv.ParseUint(options[key], 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	t.handle(s, Prepared{
		Epoch: s.m.View().Epoch, Step: number("step", 0),
		Facts:  Facts{Weight: number("weight", 8*uint64(len(s.m.View().Members))), Finite: options["bad"] == ""},
		Record: Record{Samples: 8, Finite: options["bad"] != s.member.Name, Hash: number("hash", 0), Ready: options["unready"] != s.member.Name},
	})
}

// is says whether a message is one of FROM>TO, where either may be left out.
func (t *table) is(e envelope, pair string) bool {
	from, to, _ := strings.Cut(pair, ">")
	return (from == "" || t.names[e.from] == from) && (to == "" || t.names[e.to] == to)
}

func (t *table) deliver(pairs []string) {
	can := func(e envelope) bool {
		chosen := slices.ContainsFunc(pairs, func(p string) bool { return t.is(e, p) })
		return !t.seat(e.to).held && (len(pairs) == 0 || chosen)
	}
	for i := slices.IndexFunc(t.queue, can); i >= 0; i = slices.IndexFunc(t.queue, can) {
		var now []envelope
		t.queue = slices.DeleteFunc(t.queue, func(e envelope) bool {
			if can(e) {
				now = append(now, e)
			}
			return can(e)
		})
		for _, e := range now {
			t.printf("%s > %s: %s", t.names[e.from], t.names[e.to], t.names.message(e.message))
			t.handle(t.seat(e.to), Received{e.from, e.message})
		}
		if len(pairs) > 0 { // what this led to is for later
			return
		}
	}
}

func (t *table) service(s *seat, how string) {
	if s.ask == nil {
		t.printf("%s has not asked", s.member.Name)
		return
	}
	answer := Answer{Epoch: s.ask.Epoch}
	if how != "error" && s.ask.Epoch == t.epoch {
		t.epoch, t.last = t.epoch+1, s.ask.Change
	}
	if answer.Change = t.last; how != "" {
		answer.Change, answer.Err = nil, errors.New("connection lost")
	}
	t.handle(s, answer)
}

// handle gives an event to a machine over the wire's encoding and tells what it does.
func (t *table) handle(s *seat, e Event) {
	if s.dead {
		return
	}
	name := s.member.Name
	for _, a := range s.m.Handle(t.now, e) {
		switch a := a.(type) {
		case Send:
			b, err := Append(nil, a.Message)
			if err == nil {
				a.Message, err = Decode(b)
			}
			if err != nil {
				t.printf("%s: %v", name, err)
			}
			if t.seat(a.To.ID).dead {
				t.printf("  %s sends to dead %s: %s", name, t.names[a.To.ID], t.names.message(a.Message))
				break
			}
			t.queue = append(t.queue, envelope{s.member.ID, a.To.ID, a.Message})
		case SetTimer:
			s.at = a.At
		case Cancel:
			t.printf("  %s cancels view %d", name, a.Epoch)
		case Ask:
			s.ask = &a
			t.printf("  %s asks the service for %s", name, t.names.change(a.Change))
		case Commit:
			t.printf("  %s commits %s", name, t.names.result(a.Result))
		case Install:
			first := ""
			if a.First {
				first = ", its first"
			}
			t.printf("  %s installs view %d (%s) after step %d%s", name, a.View.Epoch, t.names.members(a.View.Members), a.Change.Committed, first)
		case Fenced:
			why := "is fenced off"
			if a.Left {
				why = "has left"
			}
			t.printf("  %s %s, view %d is in force", name, why, a.Epoch)
		case Stalled:
			if a.Reason == "" {
				a.Reason = "no more"
			}
			t.printf("  %s is stalled: %s", name, a.Reason)
		case Failed:
			t.printf("  %s fails: %v", name, a.Err)
		}
	}
}
