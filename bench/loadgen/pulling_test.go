package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

var four = Options{topic: "T", queues: 8, topics: 1, window: 4, batch: 32}

// records are messages of one queue as a pull gives them, as far as they are looked at.
func records(queue, first, count int) []byte {
	var body []byte
	for offset := first; offset < first+count; offset++ {
		record := make([]byte, 40)
		binary.BigEndian.PutUint32(record, uint32(len(record)))
		binary.BigEndian.PutUint32(record[12:], uint32(queue))
		binary.BigEndian.PutUint64(record[20:], uint64(offset))
		body = append(body, record...)
	}
	return body
}

func found(opaque int64, queue, first, count int) Reply {
	header := fmt.Sprintf(`{"extFields":{"nextBeginOffset":"%d"}}`, first+count)
	return Reply{code: success, opaque: opaque, header: []byte(header), body: records(queue, first, count)}
}

// expect asks for the next pull, of this queue and from this offset.
func expect(t *testing.T, p *pullers, opaque, queue, offset int64) {
	t.Helper()
	frame := p.next(nil, opaque)
	for key, wanted := range map[string]int64{`"opaque":`: opaque, `"queueId":`: queue, `"queueOffset":`: offset} {
		if value, err := number(frame, key); err != nil || value != wanted {
			t.Fatalf("%s %d (%v), wanted %d", key, value, err, wanted)
		}
	}
}

func answer(t *testing.T, p *pullers, reply Reply, wanted int64) {
	t.Helper()
	if messages, _, err := p.done(reply); err != nil || messages != wanted {
		t.Fatalf("%d messages (%v), wanted %d", messages, err, wanted)
	}
}

func TestRepliesBelongToTheQueueThatWasAsked(t *testing.T) {
	p := newPullers(four, 1)
	for i := int64(0); i < 4; i++ {
		expect(t, p, firstOpaque+i, 4+i, 0)
	}
	// The later asked the sooner answered, each with another number of messages.
	for i := 3; i >= 0; i-- {
		answer(t, p, found(firstOpaque+int64(i), 4+i, 0, 1+i), int64(1+i))
	}
	seen := map[int64]int64{}
	for i := int64(4); i < 8; i++ {
		frame := p.next(nil, firstOpaque+i)
		queue, _ := number(frame, `"queueId":`)
		seen[queue], _ = number(frame, `"queueOffset":`)
	}
	if text := fmt.Sprint(seen); text != "map[4:1 5:2 6:3 7:4]" {
		t.Fatalf("offsets by queue: %s", text)
	}
}

func TestAQueueIsReadFromTheBeginningAgainWhileOthersGoOn(t *testing.T) {
	o := four
	o.window = 2
	p := newPullers(o, 0)
	expect(t, p, firstOpaque, 0, 0)
	expect(t, p, firstOpaque+1, 1, 0)
	answer(t, p, found(firstOpaque, 0, 0, 5), 5)
	expect(t, p, firstOpaque+2, 0, 5)
	end := Reply{code: pullNotFound, opaque: firstOpaque + 2, header: []byte(`{"nextBeginOffset":"5"}`)}
	answer(t, p, end, 0)
	expect(t, p, firstOpaque+3, 0, 0)
	answer(t, p, found(firstOpaque+1, 1, 0, 7), 7)
	expect(t, p, firstOpaque+4, 1, 7)
}

func TestWrongRepliesAreRefused(t *testing.T) {
	skipping := found(firstOpaque, 0, 0, 2)
	skipping.header = []byte(`{"nextBeginOffset":"3"}`)
	empty := Reply{code: pullNotFound, opaque: firstOpaque, header: []byte(`{"nextBeginOffset":"0"}`)}
	cases := []struct {
		reply Reply
		said  string
	}{
		{found(firstOpaque, 1, 0, 2), "record of"},
		{found(firstOpaque, 0, 1, 2), "record of"},
		{skipping, "nextBeginOffset 3"},
		{empty, "nothing at offset 0"},
		{found(firstOpaque+9, 0, 0, 2), "no queue waits"},
	}
	for _, c := range cases {
		p := newPullers(four, 0)
		expect(t, p, firstOpaque, 0, 0)
		expect(t, p, firstOpaque+1, 1, 0)
		if _, _, err := p.done(c.reply); err == nil || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%v, wanted %q", err, c.said)
		}
	}
}

func TestAFilterMayLeaveMessagesOutButNotTurnBack(t *testing.T) {
	o := four
	o.sql = "n < 50"
	p := newPuller(o, 0)
	if frame := string(p.next(nil, firstOpaque)); !strings.Contains(frame, `"expressionType":"SQL92"`) {
		t.Fatal(frame)
	}
	some := append(records(0, 3, 1), records(0, 7, 2)...)
	reply := Reply{code: success, header: []byte(`{"nextBeginOffset":"20"}`), body: some}
	if messages, _, err := p.done(reply); err != nil || messages != 3 || p.offset != 20 {
		t.Fatalf("%d messages, then offset %d (%v)", messages, p.offset, err)
	}
	none := Reply{code: pullRetryImmediately, header: []byte(`{"nextBeginOffset":"820"}`)}
	if messages, _, err := p.done(none); err != nil || messages != 0 || p.offset != 820 {
		t.Fatalf("%d messages, then offset %d (%v)", messages, p.offset, err)
	}
	// Before where it was, nothing passed, and one twice.
	for _, wrong := range []Reply{
		{code: success, header: []byte(`{"nextBeginOffset":"900"}`), body: records(0, 819, 1)},
		{code: pullRetryImmediately, header: []byte(`{"nextBeginOffset":"820"}`)},
		{code: success, header: []byte(`{"nextBeginOffset":"900"}`), body: append(records(0, 830, 1), records(0, 830, 1)...)},
	} {
		if _, _, err := p.done(wrong); err == nil {
			t.Errorf("taken: %s", wrong.header)
		}
	}
}

func TestTimerMessagesAreDueAtAnyTimeOfTheirSpan(t *testing.T) {
	o := Options{topic: "T", queues: 2, topics: 1, connections: 1, due: 1790000000000, within: 60000}
	s := newSender(o, 0)
	seen := map[int64]bool{}
	for i := int64(0); i < 100; i++ {
		frame := s.next(nil, firstOpaque+i)
		due, err := number(frame, `TIMER_DELIVER_MS\u0001`)
		if err != nil || due < o.due || due >= o.due+o.within {
			t.Fatalf("due at %d (%v)", due, err)
		}
		seen[due/1000] = true
	}
	if len(seen) < 40 {
		t.Fatalf("100 messages are due in %d seconds of 60", len(seen))
	}
	o.due = 0
	if frame := string(newSender(o, 0).next(nil, firstOpaque)); strings.Contains(frame, "TIMER") {
		t.Fatal(frame)
	}
}
