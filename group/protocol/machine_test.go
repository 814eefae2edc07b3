package protocol

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFoundersAreChecked(t *testing.T) {
	a, b := Member{ID: 1, Name: "a"}, Member{ID: 2, Name: "b"}
	long := Member{ID: 3, Name: "c", Addr: strings.Repeat("x", 256)}
	tests := []struct {
		name   string
		config Config
		view   View
		want   string // part of the error
	}{
		{"fine", Config{Self: a, Authority: Service}, View{1, []Member{a, b}}, ""},
		{"no epoch", Config{Self: a, Authority: Service}, View{0, []Member{a, b}}, "epoch"},
		{"nobody", Config{Self: a, Authority: Service}, View{1, nil}, "0 members"},
		{"too many", Config{Self: a, Authority: Service}, View{1, make([]Member, MaxMembers+1)}, "1025 members"},
		{"twice", Config{Self: a, Authority: Service}, View{1, []Member{a, b, {ID: 3, Name: "b"}}}, "twice"},
		{"not one of them", Config{Self: b, Authority: Service}, View{1, []Member{a}}, "not among the founders"},
		{"long", Config{Self: a, Authority: Service}, View{1, []Member{a, long}}, "longer than 255"},
		{"no authority", Config{Self: a}, View{1, []Member{a}}, "authority 0"},
		{"no id", Config{Self: Member{Name: "x"}, Authority: Service}, View{1, []Member{a}}, "no id"},
	}
	for _, test := range tests {
		switch _, err := New(test.config, test.view); {
		case err == nil && test.want != "", err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// actions of one type.
func of[T Action](actions []Action) (list []T) {
	for _, a := range actions {
		if a, is := a.(T); is {
			list = append(list, a)
		}
	}
	return list
}

func TestDifferentFactsEndAMember(t *testing.T) {
	m := someMember(t, Service)
	actions := m.Handle(epoch0, Received{2, &Token{Epoch: 1, Step: 1, Facts: Facts{2, true}, Records: []Entry{{ID: 2}}}})
	actions = append(append([]Action(nil), actions...), m.Handle(epoch0, Received{3, &Token{Epoch: 1, Step: 1, Facts: Facts{3, true}, Records: []Entry{{ID: 3}}}})...)
	failed := of[Failed](actions)
	var facts *FactsError
	if len(failed) != 1 || !errors.As(failed[0].Err, &facts) || facts.Member != "b" || !strings.Contains(facts.Error(), "step 1: b has a mean over 2 samples") {
		t.Fatalf("%v", actions)
	}
	if m.Handle(epoch0, Suspect{2}) != nil {
		t.Error("a machine that has failed goes on")
	}
}

// TestNothingIsPreparedAfterAVote has a reduction end on a driver that was too late to stop it.
func TestNothingIsPreparedAfterAVote(t *testing.T) {
	v := View{Epoch: 1, Members: []Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}}}
	m, err := New(Config{Self: v.Members[1], Authority: Service}, v)
	if err != nil {
		t.Fatal(err)
	}
	if len(of[Cancel](m.Handle(epoch0, Suspect{1}))) != 1 {
		t.Fatal("no Cancel")
	}
	if a := m.Handle(epoch0, Prepared{Epoch: 1, Step: 1, Facts: Facts{2, true}}); len(a) != 0 {
		t.Errorf("%v", a)
	}
	if a := m.Handle(epoch0, Received{1, &Verdict{&Result{Step: 1, Epoch: 1, Facts: Facts{2, true}}}}); len(a) != 0 {
		t.Errorf("%v", a)
	}
}

// TestTimer has ticks come early, late and when no time was set.
func TestTimer(t *testing.T) {
	m := someMember(t, Service)
	if a := m.Handle(epoch0, Tick{}); len(a) != 0 {
		t.Errorf("a tick for nothing: %v", a)
	}
	set := of[SetTimer](m.Handle(epoch0, Suspect{3}))
	if len(set) != 1 || !set[0].At.Equal(epoch0.Add(20*time.Millisecond)) {
		t.Fatalf("b is nearer to c; a waits 20 ms: %v", set)
	}
	again := of[SetTimer](m.Handle(epoch0.Add(time.Millisecond), Tick{}))
	if len(again) != 1 || !again[0].At.Equal(set[0].At) {
		t.Errorf("after an early tick the time is the same: %v", again)
	}
	if len(of[Cancel](m.Handle(set[0].At, Tick{}))) != 1 {
		t.Error("a does not begin with the change when b does not")
	}
}

func TestWishes(t *testing.T) {
	m := someMember(t, Service)
	d := Member{ID: 4, Name: "d"}
	m.Handle(epoch0, Wish{Join: []Member{d, d, {ID: 2, Name: "b"}, {Name: "no id"}, {ID: 5, Name: strings.Repeat("x", 256)}}})
	if len(m.join) != 1 || m.join[0] != d {
		t.Errorf("wishes %v, want d alone: members, doubles and what cannot be a member are no wishes", m.join)
	}
	for i := range 2 * MaxMembers {
		m.Handle(epoch0, Wish{Join: []Member{{ID: ID(10 + i), Name: "x"}}})
	}
	if len(m.join) != MaxMembers {
		t.Errorf("%d wishes, want %d at most", len(m.join), MaxMembers)
	}
	m.Handle(epoch0, Suspect{4})
	if len(m.join) != MaxMembers-1 {
		t.Error("a dead joiner is still wished for")
	}
}

// TestManyWishes has more workers wish to join than a record can tell of: the next steps' let the others in.
func TestManyWishes(t *testing.T) {
	a := Member{ID: 1, Name: "a"}
	m, err := New(Config{Self: a, Authority: Majority}, View{Epoch: 1, Members: []Member{a}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxJoin {
		m.Handle(epoch0, Wish{Join: []Member{{ID: ID(10 + i), Name: string(rune('b' + i))}}})
	}
	for _, first := range []ID{10, 10 + maxJoin} {
		facts := Facts{1, true}
		actions := slices.Clone(m.Handle(epoch0, Prepared{Epoch: m.View().Epoch, Step: m.Committed() + 1, Facts: facts}))
		for _, member := range m.View().Members[1:min(3, len(m.View().Members))] {
			token := &Token{Epoch: m.View().Epoch, Step: m.Committed() + 1, Facts: facts}
			actions = append(actions, m.Handle(epoch0, Received{member.ID, token})...)
		}
		commits := of[Commit](actions)
		if len(commits) != 1 {
			t.Fatalf("%d commits", len(commits))
		}
		if join := commits[0].Records[0].Record.Join; len(join) != maxJoin || join[0].ID != first {
			t.Errorf("step %d wishes for %v, want %d from %d on", m.Committed(), join, maxJoin, first)
		}
	}
}

// TestLaterAcceptanceCounts has a member accept two changes in two ballots: its vote tells the later one.
func TestLaterAcceptanceCounts(t *testing.T) {
	v := View{Epoch: 1}
	for i := range 7 {
		v.Members = append(v.Members, Member{ID: ID(i + 1), Name: string(rune('a' + i))})
	}
	m, err := New(Config{Self: v.Members[3], Authority: Majority}, v)
	if err != nil {
		t.Fatal(err)
	}
	first, later := &Change{From: 1, Remove: []ID{7}}, &Change{From: 1, Remove: []ID{6}}
	for i, c := range []*Change{first, later, first} {
		ballot := Ballot{Attempt: []uint32{1, 2, 1}[i]}
		sent := of[Send](m.Handle(epoch0, Received{3, &Accept{Epoch: 1, Ballot: ballot, Change: c, Acks: []ID{1}}}))
		if want := i < 2; (len(sent) == 1) != want {
			t.Fatalf("ballot %v is passed on: %v, want %t", ballot, sent, want)
		}
	}
	sent := of[Send](m.Handle(epoch0, Received{3, &Reconcile{Epoch: 1, Ballot: Ballot{Attempt: 3}, Accepted: Ballot{Attempt: 1}, Proposal: first}}))
	if len(sent) != 1 {
		t.Fatal(sent)
	}
	if r := sent[0].Message.(*Reconcile); r.Proposal != later || r.Accepted != (Ballot{Attempt: 2}) {
		t.Errorf("the vote tells %v of ballot %v", r.Proposal, r.Accepted)
	}
	sent = of[Send](m.Handle(epoch0, Received{3, &Reconcile{Epoch: 1, Ballot: Ballot{Attempt: 4}, Accepted: Ballot{Attempt: 3}, Proposal: first}}))
	if r := sent[0].Message.(*Reconcile); r.Proposal != first {
		t.Errorf("a later acceptance by another is replaced by %v", r.Proposal)
	}
}

// TestChangeToNoView: members that somebody else makes up do not get into a view.
func TestChangeToNoView(t *testing.T) {
	for name, add := range map[string][]Member{
		"nobody": {{Name: "nobody"}}, "a member again": {{ID: 1, Name: "again"}}, "a name again": {{ID: 5, Name: "b"}},
		"two in one": {{ID: 5, Name: "x"}, {ID: 5, Name: "y"}}, "a long name": {{ID: 5, Name: strings.Repeat("x", maxString+1)}},
	} {
		for authority, m := range map[Authority]*Machine{Service: someMember(t, Service), Majority: someMember(t, Majority)} {
			change := &Change{From: 1, Add: add}
			actions := m.Handle(epoch0, Received{From: 2, Message: &Accept{Epoch: 1, Ballot: Ballot{1, 1}, Change: change, Chosen: true, Origin: 2}})
			if failed := of[Failed](actions); len(failed) != 1 || len(of[Install](actions)) != 0 {
				t.Errorf("%s, authority %v: %v", name, authority, actions)
			}
		}
	}
}

// TestPlannedIsAView plans with wishes that no view can grant.
func TestPlannedIsAView(t *testing.T) {
	m := someMember(t, Service)
	m.wishes = &Result{Records: []Entry{{ID: 1, Record: Record{Ready: true, Join: []Member{
		{Name: "nobody"}, {ID: 5, Name: "x"}, {ID: 5, Name: "y"}, {ID: 6, Name: strings.Repeat("x", maxString+1)}, {ID: 7, Name: "z"}, {ID: 8, Name: "z"},
	}}}}}
	leave, add := m.planned(nil)
	if len(leave) != 0 || len(add) != 2 || add[0].ID != 5 || add[1].ID != 7 {
		t.Errorf("leave %v, add %v", leave, add)
	}
	if err := m.view.Apply(&Change{Add: add}).check(); err != nil {
		t.Error(err)
	}
}

// TestNamesAreTaken: a joiner with the name of a member has to wait until that is out or leaves.
func TestNamesAreTaken(t *testing.T) {
	for _, test := range []struct {
		name   string
		leaves bool
		out    map[ID]bool
		let    int
	}{{"it stays", false, nil, 0}, {"it leaves", true, nil, 1}, {"it is out", false, map[ID]bool{2: true}, 1}} {
		m := someMember(t, Service)
		m.wishes = &Result{Records: []Entry{
			{ID: 1, Record: Record{Ready: true, Join: []Member{{ID: 7, Name: "b"}}}}, {ID: 2, Record: Record{Ready: true, Leave: test.leaves}},
		}}
		leave, add := m.planned(test.out)
		if len(add) != test.let || leave[2] != test.leaves || leave[1] {
			t.Errorf("%s: leave %v, add %v", test.name, leave, add)
		}
	}
}

// TestNobodyWithTheState has a joiner reach nobody whose state is complete: it asks for no view without them, looks for them
// again, and begins anew after a while.
func TestNobodyWithTheState(t *testing.T) {
	a, j := Member{ID: 1, Name: "a"}, Member{ID: 2, Name: "j"}
	join := func() *Machine {
		m, err := NewJoiner(Config{Self: j, Authority: Service})
		if err != nil {
			t.Fatal(err)
		}
		m.Handle(epoch0, Received{1, &Installed{&Change{From: 1, Add: []Member{j}}, &View{2, []Member{a, j}}}})
		return m
	}
	m := join()
	actions := slices.Clone(m.Handle(epoch0, Suspect{1}))
	if len(of[Ask](actions)) != 0 || len(of[Stalled](actions)) != 1 || !strings.Contains(m.Waiting(), "has the state; waiting for a") {
		t.Fatalf("%v; waits for %s", actions, m.Waiting())
	}
	m.Handle(epoch0, Received{1, &Beat{Epoch: 2}})
	if sent := of[Send](m.Handle(epoch0.Add(stagger), Tick{})); len(sent) != 1 || sent[0].To != a {
		t.Errorf("a is back: %v", sent)
	}

	m = join()
	m.Handle(epoch0, Suspect{1})
	for now := epoch0; ; now = m.deadline {
		if fenced := of[Fenced](m.Handle(now, Tick{})); len(fenced) > 0 {
			if waited := now.Sub(epoch0); waited < forlorn || waited > 2*forlorn {
				t.Errorf("it begins anew after %v", waited)
			}
			break
		}
	}

	m = join()
	m.Handle(epoch0, Restored{})
	if asked := of[Ask](m.Handle(epoch0, Suspect{1})); len(asked) != 1 {
		t.Errorf("with the state it goes on alone: %v", asked)
	}
}
