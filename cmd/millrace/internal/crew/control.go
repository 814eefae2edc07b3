package crew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"millrace.dev/group"
	"millrace.dev/internal/rundir"
)

// Status is the situation of a run's workers on this machine.
type Status struct {
	Run     string         `json:"run"`
	Workers []WorkerStatus `json:"workers"`
	Target  int            `json:"target"` // how many there are to be
	Missing string         `json:"missing,omitempty"`
}

// WorkerStatus is what is known of one.
type WorkerStatus struct {
	Name      string `json:"name"`
	PID       int    `json:"pid"`
	Leaving   bool   `json:"leaving,omitempty"`   // it was asked to
	Trained   bool   `json:"trained,omitempty"`   // to the end
	Finishing bool   `json:"finishing,omitempty"` // it writes the results
	group.Status
	Silent string `json:"silent,omitempty"` // why it gives no status
}

// Control asks the launcher of a run that is under way.
type Control struct {
	run    string
	client *http.Client
}

// maxAnswer bounds a launcher's answer.
const maxAnswer = 16 << 20

// OpenControl finds the launcher of a run.
func OpenControl(dir rundir.Dir) (*Control, error) {
	text, err := readBounded(dir.File(groupFile), maxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &rundir.Error{Path: dir.Path(), Cause: errors.New("no workers are at work on it now")}
	}
	if err != nil {
		return nil, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	var now running
	if err := json.Unmarshal(text, &now); err != nil {
		return nil, &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("%s: %w", groupFile, err)}
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", now.Control)
		if err != nil {
			return nil, fmt.Errorf("process %d, which kept the run's workers, has ended without saying so (%w); millrace train --resume %s goes on", now.PID, err, dir.Path())
		}
		return conn, nil
	}
	return &Control{dir.Path(), &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Minute}}, nil
}

// do sends a request and returns the answer's body.
func (c *Control) do(ctx context.Context, method, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://launcher"+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, &rundir.Error{Path: c.run, Cause: errors.Unwrap(err)}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(string(bytes.TrimSpace(body)))
	}
	return body, nil
}

// Status asks how the workers are.
func (c *Control) Status(ctx context.Context) (s Status, err error) {
	body, err := c.do(ctx, http.MethodGet, "/status")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(body, &s)
}

// Resize asks for another number of workers.
func (c *Control) Resize(ctx context.Context, n int) error {
	_, err := c.do(ctx, http.MethodPost, "/resize?n="+strconv.Itoa(n))
	return err
}

// Drain asks a worker to leave for good, or all when name is empty. Stalled says why the group cannot go on, if that
// is so: then they save what they have and end after some seconds, without leaving in good order.
func (c *Control) Drain(ctx context.Context, name string) (stalled string, err error) {
	body, err := c.do(ctx, http.MethodPost, "/drain?worker="+url.QueryEscape(name))
	return string(body), err
}
