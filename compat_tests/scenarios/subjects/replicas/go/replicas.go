package main

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Readers of a master with a slave. What a "restart" is, the harness knows.
func init() {
	scenarios["restart_master_gone"] = masterGone
	scenarios["restart_lagging"] = lagging
}

const each = 20

// reader has few messages in hand, so that most are still to be pulled.
func reader(s *stage, group string, batch int32) rocketmq.PushConsumer {
	return s.push(group, group, consumer.WithConsumeGoroutineNums(4), consumer.WithPullBatchSize(batch),
		consumer.WithPullThresholdForQueue(4))
}

// lost says how many of so many different messages never came.
func lost(got *inbox, expected int) int {
	holds(90*time.Second, func() bool { return len(got.texts()) == expected })
	return expected - len(got.texts())
}

// masterGone lets the master go in the middle: who reads, reads on from the slave. One that begins without a master
// waits for it: the client asks nobody else for committed offsets.
func masterGone(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p", producer.WithSendMsgTimeout(3*time.Second))
	s.fill(p, topic, 0, "", bodies("x", each)...)
	s.fill(p, topic, 1, "", bodies("y", each)...)
	got := &inbox{}
	gone := make(chan struct{})
	var seen atomic.Int32
	c := reader(s, withRetryTopic(s, "g"), 2)
	listenWith(c, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		got.add("c", messages...)
		if seen.Add(int32(len(messages))) > 10 {
			<-gone
		}
		return consumer.ConsumeSuccess, nil
	})
	got.awaitSize(10)
	later := &inbox{}
	l := reader(s, withRetryTopic(s, "late"), 2)
	s.control.restart(s.name)
	before := got.size()
	close(gone)
	missed := lost(got, 2*each)
	listenWith(l, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		later.add("l", messages...)
		return consumer.ConsumeSuccess, nil
	})
	waits := !holds(20*time.Second, func() bool { return later.size() > 0 })
	sent := isSent(s, p, topic, "no")
	s.control.restart(s.name)
	sends := holds(90*time.Second, func() bool { return isSent(s, p, topic, "new") })
	arrives := holds(90*time.Second, func() bool { return has(got, "new") && has(later, "new") })
	return object{
		"gone in the middle":    before < 2*each,
		"lost":                  missed,
		"who came later waits":  waits,
		"sent without a master": sent,
		"sends when it is back": sends,
		"and they arrive":       arrives,
	}
}

func isSent(s *stage, p rocketmq.Producer, topic, body string) bool {
	result, err := p.SendSync(context.Background(), s.message(topic, 0, "", body))
	return err == nil && result.Status == primitive.SendOK
}

func has(got *inbox, body string) bool {
	for _, text := range got.texts() {
		if text == body {
			return true
		}
	}
	return false
}

// lagging is behind by more than the memory that the broker allows itself, until it has caught up.
func lagging(s *stage) any {
	count, size := number("REPLICAS_COUNT"), number("REPLICAS_SIZE")
	topic := s.createTopic("t", 1)
	p := s.producer("p", producer.WithCompressMsgBodyOverHowmuch(1<<30))
	body := string(make([]byte, size))
	for at := 0; at < count; at++ {
		s.fill(p, topic, 0, "", body)
	}
	s.control.restart(s.name)
	var seen atomic.Int32
	c := reader(s, withRetryTopic(s, "g"), 1)
	listenWith(c, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		seen.Add(int32(len(messages)))
		return consumer.ConsumeSuccess, nil
	})
	complete := holds(120*time.Second, func() bool { return int(seen.Load()) >= count })
	return object{"complete": complete, "seen twice": int(seen.Load()) - count}
}

func number(name string) int {
	found, err := strconv.Atoi(os.Getenv(name))
	check(err)
	return found
}
