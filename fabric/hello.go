package fabric

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// connect makes the connection: socket, TLS, hello, and the consent of the side
// that accepts.
func (c *conn) connect(ctx context.Context, open func(context.Context) (net.Conn, error)) error {
	raw, err := open(ctx)
	if err != nil {
		return err
	}
	if err := c.keep(raw); err != nil {
		return err
	}
	if err := raw.SetDeadline(time.Now().Add(c.net.opt.DialTimeout)); err != nil {
		return err
	}
	if c.stream, err = newStream(raw, c.net.opt.UserTimeout); err != nil {
		if errors.Is(err, os.ErrPermission) {
			c.net.refused.Add(1)
		}
		return err
	}
	certified := ""
	if _, isTCP := raw.(*net.TCPConn); isTCP && c.net.opt.Keys != nil {
		if certified, err = c.secure(ctx, raw); err != nil {
			return err
		}
	}
	if err := c.hello(certified); err != nil {
		return err
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if c.accept != nil {
		handler, err := c.accept(c)
		if err != nil {
			c.net.refused.Add(1)
			return err
		}
		c.handler = handler
	}
	c.mu.Lock()
	c.out.ready = true
	c.wake.Signal()
	c.mu.Unlock()
	return nil
}

// secure puts TLS over the socket and returns the name in the peer's certificate.
func (c *conn) secure(ctx context.Context, raw net.Conn) (string, error) {
	config := c.net.opt.Keys.TLS()
	secured := tls.Client(raw, config)
	if c.accept != nil {
		secured = tls.Server(raw, config)
	}
	if err := secured.HandshakeContext(ctx); err != nil {
		c.net.refused.Add(1)
		return "", fmt.Errorf("TLS with %s: %w", c.remote, err)
	}
	c.stream = newPlain(secured)
	return secured.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// hello tells the peer our name, window and nonce, and reads the peer's.
func (c *conn) hello(certified string) error {
	var nonce [4]byte
	rand.Read(nonce[:])
	c.in.nonce = 0 // for the hello alone
	mine := Header{Epoch: uint64(binary.LittleEndian.Uint32(nonce[:])), Aux: uint64(c.credit.Window()), Length: uint32(len(c.net.opt.Name))}
	var head [HeaderSize]byte
	putHeader(head[:], classHello, &mine, seal(0, 0))
	if err := c.stream.writeAll([][]byte{head[:], []byte(c.net.opt.Name)}); err != nil {
		return err
	}
	class, h, err := c.in.next(c.stream)
	if err != nil {
		return c.unheard(err)
	}
	if class != classHello || h.Length == 0 || h.Epoch>>32 != 0 || h.Aux < minWindow || h.Aux > maxWindow {
		return &ProtocolError{Reason: "the first frame is no hello"}
	}
	name := make([]byte, h.Length)
	if err := c.in.body(c.stream, name); err != nil {
		return err
	}
	if err := checkName(string(name)); err != nil {
		return &ProtocolError{Reason: err.Error()}
	}
	if certified != "" && certified != string(name) {
		return &ProtocolError{Reason: fmt.Sprintf("it calls itself %q, its certificate says %q", name, certified)}
	}
	c.in.nonce = uint32(mine.Epoch)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peer = string(name)
	c.out.nonce, c.out.n = uint32(h.Epoch), 1
	c.credit.Allow(int64(h.Aux))
	return nil
}

// unheard is the error of a peer that has ended the connection without a word, which is what one does that wants
// keys of us.
func (c *conn) unheard(err error) error {
	_, isTCP := c.raw.(*net.TCPConn)
	if c.accept == nil && isTCP && c.net.opt.Keys == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return fmt.Errorf("it has ended the connection at once, as one does that wants to see keys: %w", err)
	}
	return err
}
