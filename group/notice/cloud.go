package notice

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Clouds are the names of the clouds that [From] knows.
var Clouds = []string{"aws", "azure", "gcp"}

// From makes the source that people name: one of [Clouds], a URL that answers 200 once there is
// notice, or the path of a file that appears then. An empty name is no source, nil.
func From(name string) Source {
	switch {
	case name == "":
		return nil
	case name == "aws":
		return &AWS{}
	case name == "azure":
		return &Azure{}
	case name == "gcp":
		return HTTP{URL: gcpPreempted, Header: http.Header{"Metadata-Flavor": {"Google"}}, Word: "TRUE", Client: direct}
	case strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://"):
		return HTTP{URL: name}
	}
	return File(name)
}

// gcpPreempted says TRUE once a preemptible machine of Google's is being taken.
const gcpPreempted = "http://metadata.google.internal/computeMetadata/v1/instance/preempted"

// linkLocal is where AWS and Azure tell a machine about itself.
const linkLocal = "http://169.254.169.254"

// direct asks the cloud itself, never a proxy, which would tell of another machine.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// AWS gives notice once a spot instance is to be interrupted. It speaks version 2 of the instance
// metadata service, whose questions carry a token.
type AWS struct {
	Base  string // of the service; empty: the real one
	token string
}

// The service answers 401 to a token that has run out.
const (
	awsTokenPath  = "/latest/api/token"
	awsActionPath = "/latest/meta-data/spot/instance-action"
	awsTTL        = "21600" // seconds, the longest
)

// Ask implements Source. Calls must not overlap.
func (a *AWS) Ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		fresh := a.token == ""
		if fresh {
			status, body, err := ask(ctx, direct, http.MethodPut, or(a.Base, linkLocal)+awsTokenPath, http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {awsTTL}})
			if err != nil {
				return "", err
			}
			if status != http.StatusOK {
				return "", fmt.Errorf("AWS gives no token for its metadata: status %d", status)
			}
			a.token = strings.TrimSpace(string(body))
		}
		status, body, err := ask(ctx, direct, http.MethodGet, or(a.Base, linkLocal)+awsActionPath, http.Header{"X-Aws-Ec2-Metadata-Token": {a.token}})
		switch {
		case err != nil:
			return "", err
		case status == http.StatusOK:
			return fmt.Sprintf("AWS will interrupt this instance: %.200q", body), nil
		case status == http.StatusNotFound:
			return "", nil
		case status != http.StatusUnauthorized || fresh:
			a.token = ""
			return "", fmt.Errorf("AWS answers %d to the question for an interruption", status)
		}
		a.token = ""
	}
}

// Azure gives notice once an event is scheduled that ends this machine or its processes.
type Azure struct {
	Base string // of the service; empty: the real one
	name string // this machine's: events of others in its scale set are shown, too
}

const (
	azureNamePath   = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
	azureEventsPath = "/metadata/scheduledevents?api-version=2020-07-01"
)

// azureEnds are the events after which a machine's processes are gone. A freeze, which is short, is
// none of them.
var azureEnds = []string{"Preempt", "Terminate", "Reboot", "Redeploy"}

// Ask implements Source. Calls must not overlap.
func (a *Azure) Ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if a.name == "" {
		name, err := a.get(ctx, azureNamePath)
		if err != nil {
			return "", err
		}
		a.name = strings.TrimSpace(string(name))
	}
	text, err := a.get(ctx, azureEventsPath)
	if err != nil {
		return "", err
	}
	var scheduled struct {
		Events []struct {
			EventType string
			Resources []string
			NotBefore string
		}
	}
	if err := json.Unmarshal(text, &scheduled); err != nil {
		return "", fmt.Errorf("the events that Azure has scheduled: %w", err)
	}
	for _, e := range scheduled.Events {
		if slices.Contains(azureEnds, e.EventType) && slices.Contains(e.Resources, a.name) {
			return fmt.Sprintf("Azure has scheduled the event %.40q for this machine: %.40q", e.EventType, e.NotBefore), nil
		}
	}
	return "", nil
}

func (a *Azure) get(ctx context.Context, path string) ([]byte, error) {
	status, body, err := ask(ctx, direct, http.MethodGet, or(a.Base, linkLocal)+path, http.Header{"Metadata": {"true"}})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the question for this machine's metadata: Azure answers %d", status)
	}
	return body, err
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
