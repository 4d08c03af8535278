package main

import (
	"bytes"
	"fmt"
)

// sender puts the messages of one connection round-robin into the queues of its topics.
type sender struct {
	o      Options
	frames []*Frame
	at     int
	size   int64
}

func send(o Options) (Result, error) {
	return run(o, func(number int) Work { return newSender(o, number) })
}

func newSender(o Options, number int) *sender {
	s := &sender{o: o, at: number, size: int64(o.size)}
	body := bytes.Repeat([]byte{o.body}, o.size)
	// Connections share out the topics as far as these go: each frame is kept.
	first, step := 0, 1
	if o.topics >= o.connections {
		first, step = number, o.connections
	}
	for topic := first; topic < o.topics; topic += step {
		for queue := 0; queue < o.queues; queue++ {
			s.frames = append(s.frames, sendFrame(o, topicName(o, topic), queue, number, body))
		}
	}
	// Who sends to many queues has many requests, which do not stay in a small cache.
	for index := 0; len(s.frames) < o.frames; index++ {
		s.frames = append(s.frames, s.frames[index].copied())
	}
	return s
}

// The broker's queues of TBW102: what a producer wishes for a topic that it creates is cut to that.
const mostCreated = 8

func topicName(o Options, number int) string {
	if o.topics == 1 {
		return o.topic
	}
	return fmt.Sprintf("%s%d", o.topic, number)
}

// sendFrame has the fields and properties that the Java client sends.
func sendFrame(o Options, topic string, queue, connection int, body []byte) *Frame {
	mark := "1234567890"
	properties := fmt.Sprintf("UNIQ_KEY\x017F00000100002A139A55%02X%s\x02WAIT\x01true\x02TAGS\x01TagA",
		connection%256, mark)
	if o.due > 0 {
		properties += "\x02TIMER_DELIVER_MS\x01" + dueMark
	}
	created := o.queues
	if created > mostCreated {
		created = mostCreated
	}
	fields := map[string]string{
		"a": o.group, "b": topic, "c": "TBW102", "d": text(int64(created)), "e": text(int64(queue)),
		"f": "0", "g": "1700000000000", "h": "0", "i": properties, "j": "0", "k": "false", "m": "false",
	}
	return newFrame(sendV2, fields, body, mark)
}

func (s *sender) next(out []byte, opaque int64) []byte {
	frame := s.frames[s.at%len(s.frames)]
	if s.o.due > 0 {
		// Neighbours are due far apart.
		frame.setDue(s.o.due + int64(s.at)*stride%s.o.within)
	}
	s.at++
	return append(out, frame.stamp(opaque)...)
}

func (s *sender) done(reply Reply) (int64, int64, error) {
	if reply.code != success {
		return 0, 0, fmt.Errorf("send refused: %s", reply.header)
	}
	if _, err := number(reply.header, `"queueOffset":`); err != nil {
		return 0, 0, err
	}
	return 1, s.size, nil
}
