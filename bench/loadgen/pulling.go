package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
)

// puller reads one queue from its beginning to its end, over and over or once, or anywhere in its span.
type puller struct {
	o      Options
	queue  int
	offset int64
	frame  *Frame
	chance *rand.Rand
}

func pull(o Options) (Result, error) {
	if o.once && o.window != 1 {
		return Result{}, fmt.Errorf("-once ends a connection with its queue: -window 1")
	}
	if o.span != 0 && o.span < int64(o.batch) {
		return Result{}, fmt.Errorf("a span of %d is less than one pull", o.span)
	}
	if o.once {
		o.count = math.MaxInt64
	}
	return run(o, func(number int) Work { return newPullers(o, number) })
}

// pullers share one connection as the queues of a consumer do: each has at most one pull under way.
type pullers struct {
	all []*puller
	// The opaque of the pull that each has under way, 0 when it has none.
	asked []int64
	at    int
}

// newPullers has as many as may be under way; all connections together go through the queues in turn.
func newPullers(o Options, connection int) *pullers {
	p := &pullers{asked: make([]int64, o.window)}
	for i := 0; i < o.window; i++ {
		p.all = append(p.all, newPuller(o, connection*o.window+i))
	}
	return p
}

func (p *pullers) next(out []byte, opaque int64) []byte {
	// One is free, because no more are under way than there are pullers.
	for p.asked[p.at] != 0 {
		p.at = (p.at + 1) % len(p.all)
	}
	p.asked[p.at] = opaque
	return p.all[p.at].next(out, opaque)
}

// done finds the puller by its opaque: a server may answer another queue first.
func (p *pullers) done(reply Reply) (int64, int64, error) {
	for i, opaque := range p.asked {
		if opaque == reply.opaque {
			p.asked[i] = 0
			return p.all[i].done(reply)
		}
	}
	return 0, 0, fmt.Errorf("a reply to opaque %d, which no queue waits for", reply.opaque)
}

func newPuller(o Options, number int) *puller {
	p := &puller{o: o, queue: number % o.queues, offset: o.from}
	p.chance = rand.New(rand.NewSource(int64(number)))
	p.frame = pullFrame(o, topicName(o, number/o.queues%o.topics), p.queue)
	return p
}

func pullFrame(o Options, topic string, queue int) *Frame {
	fields := map[string]string{
		"consumerGroup": o.group, "topic": topic, "queueId": text(int64(queue)),
		"queueOffset": offsetMark, "maxMsgNums": text(int64(o.batch)), "sysFlag": text(subscribed),
		"commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0",
		"expressionType": "TAG",
	}
	if o.sql != "" {
		fields["subscription"], fields["expressionType"] = o.sql, "SQL92"
	}
	return newFrame(pullMessage, fields, nil, "")
}

func (p *puller) next(out []byte, opaque int64) []byte {
	if p.o.span > 0 {
		p.offset = p.o.from + p.chance.Int63n(p.o.span-int64(p.o.batch)+1)
	}
	p.frame.setOffset(p.offset)
	return append(out, p.frame.stamp(opaque)...)
}

func (p *puller) done(reply Reply) (int64, int64, error) {
	next, err := number(reply.header, `"nextBeginOffset":`)
	if err != nil {
		return 0, 0, err
	}
	if reply.code == pullNotFound && p.offset > p.o.from {
		if p.o.once {
			return 0, 0, errOver
		}
		p.offset = p.o.from
		return 0, 0, nil
	}
	if reply.code == pullRetryImmediately && p.o.sql != "" && next > p.offset {
		p.offset = next
		return 0, 0, nil
	}
	if reply.code != success {
		return 0, 0, fmt.Errorf("nothing at offset %d of queue %d: %s", p.offset, p.queue, reply.header)
	}
	messages, end, err := p.check(reply.body)
	if err != nil {
		return 0, 0, err
	}
	if next < end || next > end && p.o.sql == "" {
		return 0, 0, fmt.Errorf("messages from %d to before %d, but nextBeginOffset %d", p.offset, end, next)
	}
	p.offset = next
	return messages, int64(len(reply.body)), nil
}

// check goes from record to record by their sizes; queue and offset of each have to be right. It gives their
// number and the offset behind the last; a filter may leave some out.
func (p *puller) check(body []byte) (count, end int64, err error) {
	end = p.offset
	for len(body) > 0 {
		if len(body) < 28 {
			return 0, 0, fmt.Errorf("%d bytes behind the last record", len(body))
		}
		size := int(binary.BigEndian.Uint32(body))
		queue := int(binary.BigEndian.Uint32(body[12:]))
		offset := int64(binary.BigEndian.Uint64(body[20:]))
		isNext := offset == end || offset > end && p.o.sql != ""
		if size < 28 || size > len(body) || queue != p.queue || !isNext {
			return 0, 0, fmt.Errorf("record of %d bytes, queue %d, offset %d, where queue %d has offset %d",
				size, queue, offset, p.queue, end)
		}
		body = body[size:]
		count, end = count+1, offset+1
	}
	return count, end, nil
}
