package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"time"
)

// asker repeats requests whose answers need only a code.
type asker struct {
	frames []*Frame
	at     int
	step   int
}

func (a *asker) next(out []byte, opaque int64) []byte {
	frame := a.frames[a.at%len(a.frames)]
	a.at += a.step
	return append(out, frame.stamp(opaque)...)
}

func (a *asker) done(reply Reply) (int64, int64, error) {
	if reply.code != success {
		return 0, 0, fmt.Errorf("refused: %s", reply.header)
	}
	return 1, int64(len(reply.body)), nil
}

// route asks a NameServer where topics are.
func route(o Options) (Result, error) {
	var frames []*Frame
	for number := 0; number < o.topics; number++ {
		fields := map[string]string{"topic": topicName(o, number)}
		frames = append(frames, newFrame(routeByTopic, fields, nil, ""))
	}
	return run(o, func(number int) Work { return &asker{frames: copies(frames), at: number, step: 1} })
}

func copies(frames []*Frame) []*Frame {
	own := make([]*Frame, len(frames))
	for i, frame := range frames {
		own[i] = frame.copied()
	}
	return own
}

// commit gives every group an offset of every queue, once; with a rate over and over, always a new one.
func commit(o Options) (Result, error) {
	if o.rate == 0 {
		o.count = o.groups * int64(o.queues)
	}
	return run(o, func(number int) Work { return &committer{o: o, at: int64(number)} })
}

// Commits at a rate, and times of timer messages, jump so far that neighbours lie far apart: a prime, so
// all have their turn.
const stride = 15485863

type committer struct {
	asker
	o  Options
	at int64
}

func (c *committer) next(out []byte, opaque int64) []byte {
	all := c.o.groups * int64(c.o.queues)
	place := c.at % all
	if c.o.rate > 0 {
		place = place * stride % all
	}
	fields := map[string]string{
		"consumerGroup": fmt.Sprintf("%s-%d", c.o.group, place/int64(c.o.queues)), "topic": c.o.topic,
		"queueId": text(place % int64(c.o.queues)), "commitOffset": text(c.o.from + 1 + c.at/all),
	}
	c.at += int64(c.o.connections)
	return append(out, newFrame(updateOffset, fields, nil, "").stamp(opaque)...)
}

// hold lets pulls wait at the end of a queue, one on each connection, for the given time. An answer
// before that is an error.
func hold(o Options) (Result, error) {
	return wait(o, func(number int) []byte {
		fields := map[string]string{
			"consumerGroup": o.group, "topic": o.topic, "queueId": text(int64(number % o.queues)),
			"queueOffset": text(o.from), "maxMsgNums": "32", "sysFlag": text(subscribed | suspend),
			"commitOffset": "0", "suspendTimeoutMillis": text(int64(1000 * (o.seconds + 30))),
			"subscription": "*", "subVersion": "0", "expressionType": "TAG",
		}
		return newFrame(pullMessage, fields, nil, "").stamp(firstOpaque)
	})
}

// idle keeps connections open that do nothing.
func idle(o Options) (Result, error) {
	return wait(o, func(int) []byte { return nil })
}

func wait(o Options, request func(number int) []byte) (Result, error) {
	began := time.Now()
	sockets := make([]net.Conn, 0, o.connections)
	for number := 0; number < o.connections; number++ {
		socket, err := net.DialTimeout("tcp", o.addr, 10*time.Second)
		if err != nil {
			return Result{}, fmt.Errorf("connection %d: %w", number, err)
		}
		defer socket.Close()
		sockets = append(sockets, socket)
		if data := request(number); data != nil {
			if _, err := socket.Write(data); err != nil {
				return Result{}, err
			}
		}
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	fmt.Println(`{"ready": true}`)
	select {
	case <-interrupts:
	case <-time.After(time.Duration(o.seconds * float64(time.Second))):
	}
	for number, socket := range sockets {
		if err := silent(socket); err != nil {
			return Result{}, fmt.Errorf("connection %d: %w", number, err)
		}
	}
	return Result{Requests: int64(o.connections), Seconds: time.Since(began).Seconds()}, nil
}

// silent is nil when the server has sent nothing and not closed the connection.
func silent(socket net.Conn) error {
	if err := socket.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return err
	}
	data := make([]byte, 1024)
	n, err := socket.Read(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("answered while it should wait: %q", data[:n])
}
