package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"
)

// A reply may be overtaken by those to so many windows of requests.
const spread = 64

// Work makes the requests of one connection and judges their replies.
type Work interface {
	// next appends the request with this opaque.
	next(out []byte, opaque int64) []byte
	// done checks a reply; messages and bytes of it count. errOver ends the connection's work.
	done(reply Reply) (messages, bytes int64, err error)
}

var errOver = errors.New("nothing is left to do")

// run drives every connection until its time or count is over.
func run(o Options, work func(number int) Work) (Result, error) {
	links := make([]*link, o.connections)
	for i := range links {
		socket, err := net.DialTimeout("tcp", o.addr, 10*time.Second)
		if err != nil {
			return Result{}, err
		}
		defer socket.Close()
		links[i] = &link{o: o, number: i, socket: socket, work: work(i), sent: make([]time.Time, spread*o.window)}
	}
	var all sync.WaitGroup
	start := time.Now()
	stopped := stopOnInterrupt(start)
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		tell(o.every, links, os.Stdout, over)
	}()
	// The result is the last line.
	defer func() {
		close(over)
		<-told
	}()
	failed := make([]error, len(links))
	for i, l := range links {
		all.Add(1)
		go func(i int, l *link) {
			defer all.Done()
			if err := l.drive(start, stopped); err != errOver {
				failed[i] = err
			}
		}(i, l)
	}
	all.Wait()
	total := &Histogram{}
	var messages, bytes, answered int64
	took := countedTime(o, start, stopped)
	for i, l := range links {
		if failed[i] != nil {
			return Result{}, fmt.Errorf("connection %d: %w", i, failed[i])
		}
		total.merge(&l.times)
		messages += l.messages
		bytes += l.bytes
		answered += l.moved.Load()
	}
	found := result(total, messages, bytes, took)
	found.Answered = answered
	return found, nil
}

// tell prints a line of JSON with the messages a second of all connections, every so many seconds.
func tell(every float64, links []*link, out io.Writer, over <-chan struct{}) {
	if every <= 0 {
		return
	}
	ticks := time.NewTicker(time.Duration(every * float64(time.Second)))
	defer ticks.Stop()
	then, before := time.Now(), int64(0)
	for {
		select {
		case <-over:
			return
		case now := <-ticks.C:
			moved := int64(0)
			for _, l := range links {
				moved += l.moved.Load()
			}
			fmt.Fprintf(out, "{\"rate\": %.3f}\n", float64(moved-before)/now.Sub(then).Seconds())
			then, before = now, moved
		}
	}
}

// stopOnInterrupt gives the nanoseconds from start to the first interrupt, 0 until then. It ends the
// load early: what was counted before is the result.
func stopOnInterrupt(start time.Time) *atomic.Int64 {
	var stopped atomic.Int64
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		<-interrupts
		stopped.Store(int64(time.Since(start)))
	}()
	return &stopped
}

// countedTime is how long the load was counted.
func countedTime(o Options, start time.Time, stopped *atomic.Int64) time.Duration {
	if o.count > 0 {
		return time.Since(start)
	}
	took := time.Duration(o.seconds * float64(time.Second))
	warmup := time.Duration(o.warmup * float64(time.Second))
	if early := time.Duration(stopped.Load()); early > warmup && early-warmup < took {
		return early - warmup
	}
	return took
}

type link struct {
	o               Options
	number          int
	socket          net.Conn
	work            Work
	sent            []time.Time
	times           Histogram
	messages, bytes int64
	asked, answered int64
	// Messages of all replies, those of the warm-up too; tell looks at it meanwhile.
	moved atomic.Int64
}

// pause is how long after one request of a connection the next is due; 0 without a rate.
func (o Options) pause() time.Duration {
	if o.rate == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) * float64(o.connections) / o.rate)
}

func (l *link) drive(start time.Time, stopped *atomic.Int64) error {
	begin := start.Add(time.Duration(l.o.warmup * float64(time.Second)))
	end := begin.Add(time.Duration(l.o.seconds * float64(time.Second)))
	counted := l.o.count > 0
	if counted {
		begin = start
	}
	share := l.o.count / int64(l.o.connections)
	in := make([]byte, 0, l.o.buffer())
	out := make([]byte, 0, 1<<16)
	pause := l.o.pause()
	slots := int64(len(l.sent))
	// The connections take turns instead of all being due at once.
	due := time.Now().Add(pause * time.Duration(l.number) / time.Duration(l.o.connections))
	for {
		now := time.Now()
		if early := stopped.Load(); early > 0 && now.Before(end) {
			end, counted, share = start.Add(time.Duration(early)), false, 0
		}
		out = out[:0]
		// Who was overtaken by a whole spread is waited for: its time is still needed.
		for int(l.asked-l.answered) < l.o.window && l.sent[l.asked%slots].IsZero() {
			if counted && l.asked >= share || !counted && now.After(end) {
				break
			}
			if pause > 0 {
				// Latency counts from when a request was due: a late one must not hide the wait. Not so when
				// nothing but the timer was waited for: its lateness, up to a millisecond, is not the server's.
				counts := due
				if now.Before(due) {
					if l.asked > l.answered {
						break
					}
					time.Sleep(due.Sub(now))
					now = time.Now()
					counts = now
				}
				l.sent[l.asked%slots] = counts
				due = due.Add(pause)
			} else {
				l.sent[l.asked%slots] = now
			}
			out = l.work.next(out, firstOpaque+l.asked%(lastOpaque-firstOpaque))
			l.asked++
		}
		if len(out) > 0 {
			if _, err := l.socket.Write(out); err != nil {
				return err
			}
		}
		if l.asked == l.answered {
			return nil
		}
		var err error
		if in, err = l.read(in, begin, end, counted); err != nil {
			return err
		}
	}
}

// read takes what is there, at least a part of a reply.
func (l *link) read(in []byte, begin, end time.Time, counted bool) ([]byte, error) {
	if cap(in)-len(in) < 1<<16 {
		in = append(make([]byte, 0, 2*cap(in)), in...)
	}
	if err := l.socket.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		return in, err
	}
	n, err := l.socket.Read(in[len(in):cap(in)])
	if err != nil {
		return in, fmt.Errorf("%d requests without an answer: %w", l.asked-l.answered, err)
	}
	now := time.Now()
	rest := in[:len(in)+n]
	for {
		reply, left, whole, err := nextReply(rest)
		if err != nil {
			return in, err
		}
		if !whole {
			break
		}
		rest = left
		number := reply.opaque - firstOpaque
		slot := l.slot(number)
		if slot == nil || slot.IsZero() {
			return in, fmt.Errorf("a reply to opaque %d, which was not asked", reply.opaque)
		}
		messages, size, err := l.work.done(reply)
		if err != nil {
			return in, err
		}
		l.answered++
		l.moved.Add(messages)
		if counted || now.After(begin) && !now.After(end) {
			l.times.add(now.Sub(*slot))
			l.messages += messages
			l.bytes += size
		}
		*slot = time.Time{}
	}
	return append(in[:0], rest...), nil
}

// slot is where the time of a request is kept, nil when it cannot be under way.
func (l *link) slot(number int64) *time.Time {
	if number < 0 || number >= l.asked || l.asked-number > int64(len(l.sent)) {
		return nil
	}
	return &l.sent[number%int64(len(l.sent))]
}
