// Command loadgen loads a RocketMQ broker or NameServer with as little work of its own as possible: frames
// are made once and only their opaque is changed, each connection is one goroutine that answers one read
// with one write, and every reply is checked. It prints one line of JSON, with -every one for each so many
// seconds before that; an interrupt ends the load early.
//
//	loadgen send  -addr 127.0.0.1:10911 -topic T -queues 8 -connections 8 -window 32 -size 128 -seconds 5
//	loadgen pull  -addr 127.0.0.1:10911 -topic T -queues 4 -connections 4 -batch 32 -seconds 5 (or -once)
//	loadgen pull  -addr 127.0.0.1:10911 -topic T -queues 32 -connections 4 -window 8 -batch 32 -seconds 5
//	loadgen pull  -addr 127.0.0.1:10911 -topic T -queues 1 -connections 4 -batch 32 -seconds 5 -span 5000000
//	loadgen pull  -addr 127.0.0.1:10911 -topic T -queues 4 -connections 4 -batch 32 -seconds 5 -sql "n < 50"
//	loadgen send  -addr 127.0.0.1:10911 -topic T -queues 8 -count 1000000 -due 1790000000000 -within 3600000
//	loadgen pop   -addr 127.0.0.1:10911 -topic T -connections 4 -batch 32 -seconds 5 -acks batch
//	loadgen route -addr 127.0.0.1:9876  -topic T -connections 4 -window 8 -seconds 5
//	loadgen commit -addr 127.0.0.1:10911 -topic T -queues 8 -groups 1000 -connections 1
//	loadgen hold  -addr 127.0.0.1:10911 -topic T -connections 500 -seconds 20
//	loadgen idle  -addr 127.0.0.1:10911 -connections 2000 -seconds 20
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// Options are the flags; which of them matter depends on the mode.
type Options struct {
	addr, topic, group  string
	connections, window int
	queues, size, batch int
	seconds, warmup     float64
	every               float64
	count, groups       int64
	from, span          int64
	rate                float64
	topics              int
	once                bool
	body                byte
	sql                 string
	acks, broker        string
	due, within, hidden int64
	frames              int
}

func main() {
	modes := map[string]func(Options) (Result, error){
		"send": send, "pull": pull, "route": route, "commit": commit, "hold": hold, "idle": idle,
		"pop": pop,
	}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: loadgen send|pull|pop|route|commit|hold|idle [flags]; loadgen send -h for flags")
		os.Exit(2)
	}
	o := parse(os.Args[1], os.Args[2:])
	result, err := modes[os.Args[1]](o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "loadgen %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(1)
	}
}

func parse(mode string, words []string) Options {
	var o Options
	f := flag.NewFlagSet("loadgen "+mode, flag.ExitOnError)
	f.StringVar(&o.addr, "addr", "127.0.0.1:10911", "host:port")
	f.StringVar(&o.topic, "topic", "Load", "topic; with -topics N: its prefix")
	f.StringVar(&o.group, "group", "loadgen", "producer or consumer group")
	f.IntVar(&o.connections, "connections", 1, "connections")
	f.IntVar(&o.window, "window", 1, "requests under way on each connection; pulls are of one queue each")
	f.IntVar(&o.queues, "queues", 8, "queues of the topic")
	f.IntVar(&o.frames, "frames", 0, "requests that each sender keeps at least: as many as a topic of so many queues has")
	f.IntVar(&o.topics, "topics", 1, "topics, named by a number behind the prefix")
	f.IntVar(&o.size, "size", 128, "bytes of a body")
	f.IntVar(&o.batch, "batch", 32, "messages of a pull")
	f.Float64Var(&o.seconds, "seconds", 5, "how long is counted")
	f.Float64Var(&o.warmup, "warmup", 1, "seconds before that")
	f.Float64Var(&o.every, "every", 0, "print the rate of the last so many seconds as a line of JSON, all the time")
	f.Int64Var(&o.count, "count", 0, "stop after so many requests instead")
	f.Int64Var(&o.groups, "groups", 1000, "consumer groups that commit, once or at a -rate over and over")
	f.Int64Var(&o.from, "from", 0, "offset of the first pull; commits begin with the next")
	f.Int64Var(&o.span, "span", 0, "pull anywhere in so many messages behind -from; 0: in order")
	f.BoolVar(&o.once, "once", false, "pull every queue to its end, or pop everything, then stop")
	f.Float64Var(&o.rate, "rate", 0, "requests a second on all connections together; 0: as many as possible")
	f.StringVar(&o.sql, "sql", "", "pull what this SQL92 expression chooses")
	f.StringVar(&o.acks, "acks", "batch", "acknowledge what was popped in one request (batch), one for each (single), or not (none)")
	f.Int64Var(&o.hidden, "hidden", 600_000, "milliseconds until what was popped comes again")
	f.StringVar(&o.broker, "broker", "broker-a", "name of the broker, for acknowledgements")
	f.Int64Var(&o.due, "due", 0, "send timer messages, the first of them due in this millisecond")
	f.Int64Var(&o.within, "within", 1000, "and all of them in so many milliseconds behind that")
	if err := f.Parse(words); err != nil {
		os.Exit(2)
	}
	o.body = 'x'
	return o
}

// buffer is how much a connection reads at most at first; thousands of them share the memory.
func (o Options) buffer() int {
	if o.connections > 64 {
		return 1 << 17
	}
	return 1 << 20
}

// Result is what one run measured; times are milliseconds. Answered counts the messages of the warm-up too.
type Result struct {
	Requests int64   `json:"requests"`
	Messages int64   `json:"messages"`
	Answered int64   `json:"answered"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"rate"`
	Average  float64 `json:"average_ms"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	P999     float64 `json:"p999_ms"`
	Max      float64 `json:"max_ms"`
}

func result(all *Histogram, messages, bytes int64, took time.Duration) Result {
	seconds := took.Seconds()
	return Result{
		Requests: all.count, Messages: messages, Bytes: bytes, Seconds: seconds,
		Rate: float64(messages) / seconds, Average: all.average(),
		P50: all.quantile(0.5), P99: all.quantile(0.99), P999: all.quantile(0.999),
		Max: float64(all.max) / 1e6,
	}
}
