// Package notice watches for a cloud's notice that this machine will be taken away soon, so that a
// worker can leave its group in good order while there is time.
//
// A [Source] is asked again and again; [Watch] returns with its words once it has given notice. Sources
// are a file, an address, and the metadata services of AWS, Azure and Google ([From]). A
// source that cannot be asked has given none: the error is told and the next question follows.
package notice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Source tells whether notice was given, in words; an empty string is none.
type Source interface {
	Ask(ctx context.Context) (string, error)
}

// Watch asks the source now and then every so often, until notice is given or ctx ends. Errors of the
// source go to failed, which may be nil.
func Watch(ctx context.Context, s Source, every time.Duration, failed func(error)) (string, error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		words, err := s.Ask(ctx)
		if err == nil && words != "" {
			return words, nil
		}
		if err != nil && failed != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ticker.C:
		}
	}
}

// File gives notice once a file of this name exists.
type File string

// Ask implements Source.
func (f File) Ask(context.Context) (string, error) {
	_, err := os.Stat(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the file %s has appeared", string(f)), nil
}

// HTTP gives notice once a GET of URL answers with status 200 and a body that contains Word. Any
// other answer is none: clouds answer 404 or a word that says no.
type HTTP struct {
	URL    string
	Header http.Header // such as Metadata-Flavor: Google
	Word   string      // empty: any body, even an empty one
	Client *http.Client
}

// limit is how long one question may take, and maxBody how much of an answer is read.
const (
	limit   = 2 * time.Second
	maxBody = 64 << 10
)

// Ask implements Source.
func (h HTTP) Ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client := h.Client
	if client == nil {
		client = http.DefaultClient
	}
	status, body, err := ask(ctx, client, http.MethodGet, h.URL, h.Header)
	if err != nil {
		return "", err
	}
	if status != http.StatusOK || !strings.Contains(string(body), h.Word) {
		return "", nil
	}
	return fmt.Sprintf("%s says %.200q", h.URL, body), nil
}

// ask carries one question out.
func ask(ctx context.Context, client *http.Client, method, url string, header http.Header) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, nil, err
	}
	if header != nil {
		request.Header = header.Clone()
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxBody))
	return answer.StatusCode, body, err
}
