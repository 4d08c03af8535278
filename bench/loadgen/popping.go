package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// popper pops from all queues and acknowledges what it got, before it pops again. When a group has popped
// everything, all connections go on with a new one, which begins at the beginning.
type popper struct {
	o          Options
	generation *atomic.Int64
	// The generation of the pop that is under way or was answered last.
	asked int64
	acks  [][]byte
	acked bool
	frame *Frame
}

func pop(o Options) (Result, error) {
	if o.window != 1 {
		return Result{}, fmt.Errorf("a connection acknowledges what it has popped: -window 1")
	}
	if o.acks != "batch" && o.acks != "single" && o.acks != "none" {
		return Result{}, fmt.Errorf("-acks is batch, single or none, not %q", o.acks)
	}
	if o.once {
		o.count = math.MaxInt64
	}
	generation := &atomic.Int64{}
	return run(o, func(int) Work { return &popper{o: o, generation: generation, asked: -1} })
}

func (p *popper) group() string { return p.o.group + "-" + text(p.asked) }

func (p *popper) next(out []byte, opaque int64) []byte {
	if p.acked = len(p.acks) > 0; p.acked {
		frame := p.acks[0]
		p.acks = p.acks[1:]
		return append(out, stamped(frame, opaque)...)
	}
	if now := p.generation.Load(); now != p.asked {
		p.asked = now
		p.frame = newFrame(popMessage, map[string]string{
			"consumerGroup": p.group(), "topic": p.o.topic, "queueId": "-1", "maxMsgNums": text(int64(p.o.batch)),
			"invisibleTime": text(p.o.hidden), "pollTime": "0", "bornTime": "0", "initMode": "0", "expType": "TAG",
			"exp": "*", "order": "false",
		}, nil, "")
	}
	return append(out, p.frame.stamp(opaque)...)
}

func (p *popper) done(reply Reply) (int64, int64, error) {
	if p.acked {
		if reply.code != success {
			return 0, 0, fmt.Errorf("an acknowledgement was refused: %s", reply.header)
		}
		return 0, 0, nil
	}
	if reply.code == pollingTimeout {
		rest, err := number(reply.header, `"restNum":`)
		if err != nil || rest > 0 {
			// Another connection was at the queues.
			return 0, 0, err
		}
		if p.o.once {
			return 0, 0, errOver
		}
		p.generation.CompareAndSwap(p.asked, p.asked+1)
		return 0, 0, nil
	}
	if reply.code != success {
		return 0, 0, fmt.Errorf("nothing popped: %s", reply.header)
	}
	found, err := places(reply.header)
	if err != nil {
		return 0, 0, err
	}
	popped := int64(0)
	for _, one := range found {
		popped += int64(len(one.offsets))
	}
	if inBody := recordsIn(reply.body); inBody != popped || popped == 0 {
		return 0, 0, fmt.Errorf("%d records, but %d offsets in %s", inBody, popped, reply.header)
	}
	return popped, int64(len(reply.body)), p.acknowledge(reply.header, found)
}

// place is one queue of an answer: kind of topic, number, the offset asked for and those found.
type place struct {
	kind, queue, start string
	offsets            []string
}

func places(header []byte) ([]place, error) {
	starts, found := word(header, `"startOffsetInfo":`), word(header, `"msgOffsetInfo":`)
	var all []place
	segments := strings.Split(found, ";")
	for i, start := range strings.Split(starts, ";") {
		fields := strings.Split(start, " ")
		if len(fields) != 3 || i >= len(segments) {
			return nil, fmt.Errorf("no places in %s", header)
		}
		_, offsets, _ := strings.Cut(segments[i], " ")
		_, offsets, _ = strings.Cut(offsets, " ")
		all = append(all, place{fields[0], fields[1], fields[2], strings.Split(offsets, ",")})
	}
	return all, nil
}

func (p *popper) acknowledge(header []byte, found []place) error {
	if p.o.acks == "none" {
		return nil
	}
	times := make([]int64, 3)
	for i, key := range []string{`"popTime":`, `"invisibleTime":`, `"reviveQid":`} {
		var err error
		if times[i], err = number(header, key); err != nil {
			return err
		}
	}
	if p.o.acks == "single" {
		for _, one := range found {
			for _, offset := range one.offsets {
				p.acks = append(p.acks, p.single(times, one, offset))
			}
		}
		return nil
	}
	frame, err := p.batch(times, found)
	p.acks = append(p.acks, frame)
	return err
}

func (p *popper) single(times []int64, one place, offset string) []byte {
	handle := fmt.Sprintf("%s %d %d %d %s %s %s %s", one.start, times[0], times[1], times[2], one.kind,
		p.o.broker, one.queue, offset)
	return newFrame(ackMessage, map[string]string{
		"consumerGroup": p.group(), "topic": p.o.topic, "queueId": one.queue, "extraInfo": handle, "offset": offset,
	}, nil, "").bytes
}

func (p *popper) batch(times []int64, found []place) ([]byte, error) {
	var acks []map[string]any
	for _, one := range found {
		start, err := strconv.ParseInt(one.start, 10, 64)
		if err != nil {
			return nil, err
		}
		bits := make([]byte, 0, 8)
		for _, text := range one.offsets {
			offset, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, err
			}
			for int64(len(bits)) <= (offset-start)/8 {
				bits = append(bits, 0)
			}
			bits[(offset-start)/8] |= 1 << ((offset - start) % 8)
		}
		queue, err := strconv.Atoi(one.queue)
		if err != nil {
			return nil, err
		}
		acks = append(acks, map[string]any{
			"c": p.group(), "t": p.o.topic, "r": one.kind, "so": start, "q": queue, "rq": times[2],
			"pt": times[0], "it": times[1], "b": base64.StdEncoding.EncodeToString(bits),
		})
	}
	body, err := json.Marshal(map[string]any{"brokerName": p.o.broker, "acks": acks})
	if err != nil {
		return nil, err
	}
	return newFrame(batchAckMessage, map[string]string{}, body, "").bytes, nil
}

// stamped puts an opaque into a frame that is sent once.
func stamped(frame []byte, opaque int64) []byte {
	key := []byte(`"opaque":`)
	at := bytes.Index(frame, key) + len(key)
	putDigits(frame[at:at+10], opaque)
	return frame
}

// word is the text behind a key of the JSON header; nothing in it is escaped.
func word(header []byte, key string) string {
	_, rest, found := bytes.Cut(header, []byte(key))
	if !found {
		return ""
	}
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// recordsIn goes from record to record by their sizes; -1 if they do not fill the body.
func recordsIn(body []byte) int64 {
	count := int64(0)
	for len(body) >= 4 {
		size := int(binary.BigEndian.Uint32(body))
		if size < 4 || size > len(body) {
			return -1
		}
		body, count = body[size:], count+1
	}
	if len(body) > 0 {
		return -1
	}
	return count
}
