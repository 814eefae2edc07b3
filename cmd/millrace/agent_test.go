package main

import (
	"strings"
	"testing"
)

func TestAgentUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "--socket"},
		{[]string{"python"}, `put -- before the command`},
		{[]string{"--workers", "0", "--", "true"}, "--workers must be 1 to"},
		{[]string{"--workers", "2", "--socket", "s"}, "needs a command"},
		{[]string{"--socket", "s", "--", "true"}, "not started here"},
		{[]string{"--membership", "x", "--", "true"}, "service or majority"},
		{[]string{"--membership", "majority", "--cluster", "nats://127.0.0.1:1", "--", "true"}, "exclude each other"},
		{[]string{"--membership", "service", "--listen", "192.0.2.1:7000", "--", "true"}, "--cluster"},
		{[]string{"--listen", "0.0.0.0:7000", "--", "true"}, "by which the others reach this machine"},
		{[]string{"--join", "192.0.2.1:7000", "--", "true"}, "needs --listen"},
		{[]string{"--join", "", "--", "true"}, "an address is empty"},
		{[]string{"--listen", "192.0.2.1:7000", "--", "true"}, "needs --keys"},
	} {
		got := millrace(t, t.TempDir(), append([]string{"agent"}, c.args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, got.code, got.stderr)
		}
	}
}

// TestAgentOfProgramsThatSayNothing starts programs that do not speak to their agents.
func TestAgentOfProgramsThatSayNothing(t *testing.T) {
	got := millrace(t, t.TempDir(), "agent", "--workers", "2", "--", "true")
	if got.code != exitFailed || !strings.Contains(got.stderr, "ended without a word to its agent") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	got = millrace(t, t.TempDir(), "agent", "--membership", "majority", "--", "sh", "-c", "echo here is $MILLRACE_WORKER; exit 3")
	if got.code != exitFailed || !strings.Contains(got.stdout, "here is w\n") || !strings.Contains(got.stderr, "exit status 3") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}
