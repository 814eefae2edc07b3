package notice

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestFrom(t *testing.T) {
	for name, want := range map[string]Source{
		"":                nil,
		"aws":             &AWS{},
		"azure":           &Azure{},
		"./aws":           File("./aws"),
		"/run/notice":     File("/run/notice"),
		"http://there/":   HTTP{URL: "http://there/"},
		"https://there/x": HTTP{URL: "https://there/x"},
	} {
		if got := From(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v", name, got, want)
		}
	}
	for _, name := range Clouds {
		if _, file := From(name).(File); file {
			t.Errorf("%s is taken for a file", name)
		}
	}
	gcp := From("gcp").(HTTP)
	if gcp.Header.Get("Metadata-Flavor") != "Google" || gcp.Word != "TRUE" || !strings.HasSuffix(gcp.URL, "/instance/preempted") {
		t.Errorf("%+v", gcp)
	}
}

// TestAWS: a token is fetched once, and again when it has run out.
func TestAWS(t *testing.T) {
	tokens, valid, action, refuses := 0, "", "", false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
			tokens++
			valid = fmt.Sprint("token", tokens)
			fmt.Fprint(w, valid)
		case refuses || valid == "" || r.Header.Get("X-aws-ec2-metadata-token") != valid:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet && r.URL.Path == "/latest/meta-data/spot/instance-action" && action != "":
			fmt.Fprint(w, action)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	source := &AWS{Base: server.URL}
	asks := func(wantTokens int, wantWords string, wantErr bool) {
		t.Helper()
		words, err := source.Ask(t.Context())
		if tokens != wantTokens || (err != nil) != wantErr || (words != "") != (wantWords != "") || !strings.Contains(words, wantWords) {
			t.Errorf("%d tokens, %q, %v", tokens, words, err)
		}
	}
	asks(1, "", false)
	asks(1, "", false)
	valid = "" // as after six hours
	asks(2, "", false)
	action = `{"action": "terminate", "time": "2030-01-01T00:00:00Z"}`
	asks(2, "terminate", false)
	refuses = true
	asks(3, "", true) // once anew, not for ever
}

// TestAzure: only events count that end this very machine.
func TestAzure(t *testing.T) {
	events := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Metadata") != "true" || r.URL.Query().Get("api-version") == "":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/metadata/instance/compute/name" && r.URL.Query().Get("format") == "text":
			fmt.Fprint(w, "set_1")
		case r.URL.Path == "/metadata/scheduledevents":
			fmt.Fprint(w, events)
		}
	}))
	defer server.Close()
	source := &Azure{Base: server.URL}
	for _, c := range []struct {
		events string
		notice string
		fails  bool
	}{
		{`{"DocumentIncarnation": 1, "Events": []}`, "", false},
		{`{"Events": [{"EventType": "Preempt", "Resources": ["set_2", "set_11"]}]}`, "", false},
		{`{"Events": [{"EventType": "Freeze", "Resources": ["set_1"]}]}`, "", false},
		{`{"Events": [{"EventType": "Freeze", "Resources": ["set_1"]}, {"EventType": "Preempt", "Resources": ["set_0", "set_1"]}]}`, "Preempt", false},
		{`{"Events": [{"EventType": "Terminate", "Resources": ["set_1"], "NotBefore": "soon"}]}`, "soon", false},
		{`no events`, "", true},
	} {
		events = c.events
		words, err := source.Ask(t.Context())
		if (err != nil) != c.fails || (words != "") != (c.notice != "") || !strings.Contains(words, c.notice) {
			t.Errorf("%s: %q, %v", c.events, words, err)
		}
	}
	server.Close()
	if _, err := source.Ask(t.Context()); err == nil {
		t.Error("nobody there, and no error")
	}
}
