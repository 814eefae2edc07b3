package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/durable"
)

// stallTime is how long a server may send nothing before it is given up.
const stallTime = 30 * time.Second

// Progress is told how far a download is, in bytes of the whole data set.
type Progress func(file string, done, total int64)

// Fetch downloads a known data set into CacheDir and returns that folder. Files that are
// there and right are kept, a download that was cut off goes on where it ended, and each
// file appears under its name only when its SHA-256 is the published one. Progress may be
// nil. Where no address can be reached the error tells the other ways to get the data.
func Fetch(ctx context.Context, name string, progress Progress) (dir string, err error) {
	p := lookup(name)
	if p == nil {
		return "", unknown(name, os.ErrNotExist)
	}
	if p.embedded() {
		return "", wrongFile(name, "is embedded in the program: there is nothing to fetch")
	}
	if dir, err = CacheDir(name); err != nil {
		return "", err
	}
	f := fetcher{client: http.DefaultClient, stall: stallTime, progress: progress}
	return dir, f.fetch(ctx, p, dir)
}

// fetcher downloads the files of a data set.
type fetcher struct {
	client   *http.Client
	stall    time.Duration
	progress Progress

	done, total int64 // bytes of the files that are complete, and of all files
}

// fetch brings every file of p into dir.
func (f *fetcher) fetch(ctx context.Context, p *published, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range p.files {
		f.total += file.size
	}
	for _, file := range p.files {
		if err := f.file(ctx, p, file, filepath.Join(dir, file.name)); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("fetching %s: %w; what was fetched is kept, start again to go on", p.name, context.Cause(ctx))
			}
			return fmt.Errorf("%s could not be fetched: %w; without a connection: %s", p.name, err, p.offline())
		}
		f.done += file.size
		f.report(file, 0)
	}
	return nil
}

func (f *fetcher) report(file publishedFile, part int64) {
	if f.progress != nil {
		f.progress(file.name, f.done+part, f.total)
	}
}

// file brings one file to its final path, from the first address that serves it.
func (f *fetcher) file(ctx context.Context, p *published, want publishedFile, final string) error {
	if have, err := os.Open(final); err == nil {
		sum, size, err := hashOf(have)
		have.Close()
		if err == nil && size == want.size && hexOf(sum) == want.sha256 {
			return nil
		}
	}
	part, err := os.OpenFile(final+".part", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer part.Close()
	if err := unix.Flock(int(part.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another process is fetching %s", final)
	}
	var failures error
	for _, base := range p.bases {
		err := f.download(ctx, base+want.name, want, part)
		if err == nil {
			return install(part, final)
		}
		if ctx.Err() != nil {
			return err
		}
		if failures == nil {
			failures = err
		} else {
			failures = fmt.Errorf("%w; %w", failures, err)
		}
	}
	return failures
}

// install gives a complete file its name, and makes both durable.
func install(part *os.File, final string) error {
	if err := part.Sync(); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), final); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(final))
}

// partial is a file that is being fetched from one address, as far as it has come.
type partial struct {
	url  string
	want publishedFile
	file *os.File
	sum  hash.Hash // of what the file holds
	size int64     // of that
}

// restart empties the file.
func (p *partial) restart() error {
	p.sum, p.size = sha256.New(), 0
	return p.file.Truncate(0)
}

// append adds what has come.
func (p *partial) append(b []byte) error {
	if p.size+int64(len(b)) > p.want.size {
		return fmt.Errorf("%s is larger than the published %d bytes", p.url, p.want.size)
	}
	if _, err := p.file.WriteAt(b, p.size); err != nil {
		return err
	}
	p.sum.Write(b)
	p.size += int64(len(b))
	return nil
}

// ended is an answer that ended before the file did.
func (p *partial) ended() error {
	return fmt.Errorf("%s: %w after %d of %d bytes", p.url, errBroken, p.size, p.want.size)
}

// download completes a file from one address. It asks again while a broken connection has
// brought bytes, and once from the start when what it went on from turns out wrong.
func (f *fetcher) download(ctx context.Context, url string, want publishedFile, file *os.File) error {
	p := &partial{url: url, want: want, file: file}
	for restarted := false; ; {
		var err error
		if p.sum, p.size, err = hashOf(file); err == nil && p.size > want.size {
			err = p.restart()
		}
		if err != nil {
			return err
		}
		had := p.size
		if had < want.size {
			err = f.request(ctx, p)
		}
		switch {
		case errors.Is(err, errBroken) && p.size > had && ctx.Err() == nil:
			continue // it brought something: go on from there
		case err != nil:
			return err
		}
		is := hexOf(p.sum)
		if is == want.sha256 {
			return nil
		}
		if err := p.restart(); err != nil {
			return err
		}
		if had == 0 || restarted {
			return fmt.Errorf("%s has SHA-256 %s, want %s", url, is, want.sha256)
		}
		restarted = true // what was there before may have been at fault
	}
}

var (
	// errStalled ends a download that brings nothing for too long.
	errStalled = errors.New("the server sent nothing for too long")
	// errBroken is an answer that ended too early.
	errBroken = errors.New("the connection ended")
)

// request asks for the bytes that are missing and appends them.
func (f *fetcher) request(ctx context.Context, p *partial) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(f.stall, func() { cancel(errStalled) })
	defer stalled.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return err
	}
	if p.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return causeOf(ctx, p.url, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusPartialContent && p.size > 0:
		var from int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != p.size {
			return fmt.Errorf("%s answers with another range than was asked for", p.url)
		}
	case resp.StatusCode == http.StatusOK: // the whole file, whatever was asked for
		if err := p.restart(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s answers %s", p.url, resp.Status)
	}
	return f.copy(ctx, p, resp.Body, stalled)
}

// copy appends what comes to the file, and puts the stall off each time.
func (f *fetcher) copy(ctx context.Context, p *partial, body io.Reader, stalled *time.Timer) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			stalled.Reset(f.stall)
			if err := p.append(buf[:n]); err != nil {
				return err
			}
			f.report(p.want, p.size)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && p.size == p.want.size:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return p.ended()
		case ctx.Err() != nil:
			return causeOf(ctx, p.url, err)
		default:
			return fmt.Errorf("%w: %w", p.ended(), err)
		}
	}
}

// causeOf tells a stall from other failures of the connection.
func causeOf(ctx context.Context, url string, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return fmt.Errorf("%s: %w", url, errStalled)
	}
	return err
}

// hashOf reads a file from its start.
func hashOf(f *os.File) (hash.Hash, int64, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return sum, n, err
}

// hexOf gives a sum as text.
func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
