package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	reconnectWait = 50 * time.Millisecond
	history       = 64        // changes of a record that a slow watch can be behind
	removalTTL    = time.Hour // how long the removal of a record is remembered
)

// Cluster is a connection to the servers that keep the records. Its methods may
// be called by many goroutines.
type Cluster struct {
	own      *embedded // nil: an existing cluster
	conn     *nats.Conn
	js       jetstream.JetStream
	stream   string // the JetStream stream of the records
	subjects string // what the subjects of its records begin with
	barrier  string // key of this connection's barrier messages
	created  time.Time
	replicas int

	closing context.Context // ends with Close
	end     context.CancelFunc
	leases  sync.WaitGroup
}

// Open starts or finds the servers, connects and makes the store of records if
// there is none. It repeats until the context ends while servers cannot be
// reached or choose a leader.
func Open(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	c := &Cluster{
		stream:   "KV_" + config.Name,
		subjects: "$KV." + config.Name + ".",
		barrier:  barriersKey + "." + nats.NewInbox()[len("_INBOX."):],
	}
	c.closing, c.end = context.WithCancel(context.Background())
	err := c.open(ctx, config)
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) open(ctx context.Context, config Config) (err error) {
	if config.URL == "" {
		if c.own, err = startServer(config); err != nil {
			return err
		}
	}
	if err := c.connect(ctx, config); err != nil {
		return err
	}
	if c.js, err = jetstream.New(c.conn); err != nil {
		return err
	}
	return c.findStream(ctx, config.Replicas)
}

// connect dials until one of the servers answers.
func (c *Cluster) connect(ctx context.Context, config Config) error {
	options := []nats.Option{
		nats.Name("millrace"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1), // a change that cannot be sent now fails, and is repeated by us
		nats.Timeout(2 * time.Second),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // each call reports its own
	}
	files, err := config.TLS.load()
	if err != nil {
		return err
	}
	if files != nil {
		options = append(options, nats.Secure(files))
	}
	addresses := config.URL
	if c.own != nil {
		addresses = nats.DefaultURL
		options = append(options, nats.InProcessServer(c.own))
		if c.own.token != "" {
			options = append(options, nats.Token(c.own.token))
		}
	}
	for {
		if c.conn, err = nats.Connect(addresses, options...); err == nil {
			return nil
		}
		if !pause(ctx, reconnectWait) {
			return fmt.Errorf("%s: %w: %w", redacted(addresses), ErrUnavailable, err)
		}
	}
}

// findStream looks the store of records up, or makes it.
func (c *Cluster) findStream(ctx context.Context, replicas int) error {
	if replicas == 0 && c.own == nil && len(c.conn.Servers()) >= 3 {
		replicas = 3
	}
	want := c.want(replicas)
	for began := time.Now(); ; {
		stream, err := c.findOrMake(ctx, want)
		switch {
		case err == nil:
			return c.adopt(stream.CachedInfo())
		case permanent(err, time.Since(began)):
			return fmt.Errorf("making the store of records: %w", err)
		case !pause(ctx, reconnectWait):
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
}

// want is the store of records.
func (c *Cluster) want(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              c.stream,
		Description:       "records of millrace",
		Subjects:          []string{c.subjects + ">"},
		MaxMsgsPerSubject: history,
		MaxMsgSize:        maxValue + 4<<10,
		MaxBytes:          -1,
		MaxMsgs:           -1,
		MaxConsumers:      -1,
		Replicas:          max(replicas, 1),
		Discard:           jetstream.DiscardNew,
		DenyDelete:        true,
		AllowRollup:       true,
		AllowDirect:       true,
		AllowMsgTTL:       true,
	}
}

func (c *Cluster) findOrMake(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	stream, err := c.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return c.js.CreateStream(ctx, want)
	}
	return stream, err
}

// adopt takes an existing store, if it is one of ours.
func (c *Cluster) adopt(info *jetstream.StreamInfo) error {
	if !info.Config.AllowDirect || !info.Config.AllowMsgTTL || !info.Config.AllowRollup || info.Config.SubjectDeleteMarkerTTL != 0 {
		return fmt.Errorf("the stream %s was not made by millrace: choose another name", info.Config.Name)
	}
	c.created, c.replicas = info.Created, info.Config.Replicas
	return nil
}

// gathering is how long servers that have just started may not know of each
// other yet, and say that there are too few of them.
const gathering = 30 * time.Second

// permanent says whether making the store, tried for some time, fails however
// often it is tried.
func permanent(err error, tried time.Duration) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode == codeNoPeers && tried < gathering {
		return false
	}
	return api.Code >= 400 && api.Code < 500 && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse)
}

// Durability says in words what an acknowledged change survives.
func (c *Cluster) Durability() string {
	switch {
	case c.own != nil:
		return "one copy, fsync before each answer: survives a power failure, not the loss of the disk"
	case c.replicas == 1:
		return "one copy on an existing server, whose sync_interval decides what a power failure loses"
	}
	return fmt.Sprintf("%d copies on existing servers: survives the loss of %d of them; their sync_interval decides what a power failure of all loses",
		c.replicas, (c.replicas-1)/2)
}

// URL is the address at which other processes reach the same records; empty
// when the server of our own accepts this process only. It holds the secret
// that lets them in, so it is not to be printed or given as an argument.
func (c *Cluster) URL() string {
	if c.own == nil {
		return strings.Join(c.conn.Servers(), ",")
	}
	if address := c.own.Addr(); address != nil {
		if c.own.token == "" {
			return "nats://" + address.String()
		}
		return "nats://" + c.own.token + "@" + address.String()
	}
	return ""
}

// Close ends the connection and the server of our own. Leases are not given
// back: they expire; call [Lease.Leave] first.
func (c *Cluster) Close() {
	c.end()
	c.leases.Wait()
	if c.conn != nil {
		c.conn.Close()
	}
	if c.own != nil {
		c.own.stop()
	}
}

// bounded gives a context without a deadline the default one.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, defaultTimeout)
}

// call is the context of one call: it has a deadline, and ends with Close.
func (c *Cluster) call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := bounded(ctx)
	stop := context.AfterFunc(c.closing, cancel)
	return ctx, func() { stop(); cancel() }
}

// pause waits, and says whether the context still runs.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

var _ nats.InProcessConnProvider = (*server.Server)(nil)
