package stories

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const (
	twoHours   = 18
	recallCode = 370
)

func init() {
	stories["orderPaidAfterTwoHours"] = orderPaidAfterTwoHours
	stories["sixteenRetriesThenDeadLetter"] = sixteenRetriesThenDeadLetter
	stories["transactionAskedThreeTimes"] = transactionAskedThreeTimes
	stories["timerRecalled"] = timerRecalled
	stories["retentionEatsWhatWasNotRead"] = retentionEatsWhatWasNotRead
}

func orderPaidAfterTwoHours(s *story) {
	shop := s.producer()
	s.consume("c", s.take)
	s.begin()
	order := s.message("order 7")
	order.WithDelayTimeLevel(twoHours)
	s.send(shop, order)
	s.Advance("1h59m")
	s.same(s.texts(), []string{})
	s.Advance("1m")
	s.same(s.next(), "order 7")
}

func sixteenRetriesThenDeadLetter(s *story) {
	var lock sync.Mutex
	attempts, wanted := []int32{}, []int32{}
	for times := int32(0); times <= 16; times++ {
		wanted = append(wanted, times)
	}
	shop := s.producer()
	s.consume("c", func(message *primitive.MessageExt) consumer.ConsumeResult {
		lock.Lock()
		defer lock.Unlock()
		attempts = append(attempts, message.ReconsumeTimes)
		return consumer.ConsumeRetryLater
	})
	s.begin()
	s.send(shop, s.message("poison"))
	s.AdvanceUntil(func() bool { return len(s.DeadLetters(s.group)) > 0 })
	s.same(s.DeadLetters(s.group)[0].Text, "poison")
	lock.Lock()
	defer lock.Unlock()
	s.same(attempts, wanted)
}

type bank struct{ asked atomic.Int32 }

func (b *bank) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return primitive.UnknowState
}

func (b *bank) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	if b.asked.Add(1) < 3 {
		return primitive.UnknowState
	}
	return primitive.CommitMessageState
}

func transactionAskedThreeTimes(s *story) {
	listener := &bank{}
	// As one client with the consumer: its heartbeat tells the broker of both. A producer's own comes half a minute later.
	made, err := rocketmq.NewTransactionProducer(listener, append(s.producerOptions(), producer.WithInstanceName("both"))...)
	s.check(err)
	s.check(made.Start())
	s.t.Cleanup(func() { made.Shutdown() })
	s.consume("both", s.take)
	s.begin()
	_, err = made.SendMessageInTransaction(context.Background(), s.message("transfer"))
	s.check(err)
	s.same(s.texts(), []string{})
	s.AdvanceUntil(func() bool { return len(s.got) > 0 })
	s.same(s.next(), "transfer")
	s.same(listener.asked.Load(), 3)
}

// timerRecalled sends the recall by hand: the Go client knows none.
func timerRecalled(s *story) {
	shop := s.producer()
	s.consume("c", s.take)
	s.begin()
	sent := map[string]*primitive.SendResult{}
	for body, seconds := range map[string]string{"offer": "86400", "reminder": "90000"} {
		message := s.message(body)
		message.WithProperty("TIMER_DELAY_SEC", seconds)
		result, err := shop.SendSync(context.Background(), message)
		s.check(err)
		sent[body] = result
	}
	due := s.pending(sent["offer"].MsgID)
	handle := strings.Join([]string{"v1", s.topic, sent["offer"].MessageQueue.BrokerName, fmt.Sprint(due), sent["offer"].MsgID}, " ")
	fields := map[string]string{"producerGroup": "p", "topic": s.topic, "recallHandle": base64.URLEncoding.EncodeToString([]byte(handle))}
	s.check(ask(s.BrokerAddr, recallCode, fields))
	s.Advance("25h1s")
	s.same(s.next(), "reminder")
	s.same(len(s.got), 0)
}

// pending is the delivery time of a message in the timer wheel, in ms since 1970.
func (s *story) pending(id string) int64 {
	var found []struct {
		ID  string `json:"id"`
		Due int64  `json:"due_millis"`
	}
	s.Call("looks/pending_timers", nil, &found)
	for _, one := range found {
		if one.ID == id {
			return one.Due
		}
	}
	s.t.Fatal("no timer ", id)
	return 0
}

// retentionEatsWhatWasNotRead pulls by itself: a push consumer of the Go client waits for ten seconds then.
func retentionEatsWhatWasNotRead(s *story) {
	shop := s.producer()
	puller, err := rocketmq.NewPullConsumer(consumer.WithNsResolver(s.names()), consumer.WithGroupName(s.group),
		consumer.WithInstance("puller"))
	s.check(err)
	s.check(puller.Subscribe(s.topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}))
	s.check(puller.Start())
	s.t.Cleanup(func() { puller.Shutdown() })
	s.begin()
	for i := 0; i < 3; i++ {
		s.send(shop, s.message(strings.Repeat(strings.Repeat("x", 40), 1000)))
	}
	s.Advance("96h")
	s.send(shop, s.message("last"))
	queues, err := s.tool().FetchPublishMessageQueues(context.Background(), s.topic)
	s.check(err)
	lost, err := puller.PullFrom(context.Background(), queues[0], 0, 32)
	s.check(err)
	s.same(lost.Status, primitive.PullOffsetIllegal)
	found, err := puller.PullFrom(context.Background(), queues[0], lost.NextBeginOffset, 32)
	s.check(err)
	messages := found.GetMessageExts()
	s.same(string(messages[len(messages)-1].Body), "last")
	s.same(lost.NextBeginOffset > 0, true)
}
