package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand"
	"sort"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const (
	keyQueues = 4
	keys      = 12
	// A member unlocks when it leaves, but not what it gives up to one that joins: that waits for a minute, so
	// these come and go for a short time.
	churn = 5 * time.Second
	limit = 2
)

func init() {
	scenarios["order_joining_and_leaving"] = orderJoiningAndLeaving
	scenarios["order_member_killed"] = orderMemberKilled
	scenarios["order_limit"] = orderLimit
	// A restart is asked for by scenarios that are called so (control).
	scenarios["restart_order"] = restartOrder
}

// orders is a scenario's two topics, one of which has a single queue, and its ledger.
type orders struct {
	*stage
	global, keyed string
	*ledger
}

func newOrders(s *stage) *orders {
	withRetryTopic(s, "g")
	return &orders{s, s.createTopic("global", 1), s.createTopic("keyed", keyQueues), newLedger()}
}

func (o *orders) topics() []string {
	return []string{o.global, o.keyed}
}

func (o *orders) join(who string) func() {
	return orderly(o.stage, who, o.topics(), func(queue string, offset int64, body string) {
		o.wasGiven(who, queue, offset, body)
	})
}

// feed numbers the messages of each key, and sends the next one of a key when the last was stored. The
// function that it returns ends it.
func (o *orders) feed(pause time.Duration) func() {
	p := o.producer("p", producer.WithSendMsgTimeout(2*time.Second))
	next := map[string]int{}
	ending := make(chan struct{})
	var sending sync.WaitGroup
	sending.Add(1)
	go func() {
		defer sending.Done()
		for turn := 0; ; turn++ {
			topic, key, queue := o.global, "global", 0
			if turn%3 > 0 {
				topic, key = o.keyed, fmt.Sprintf("k%02d", turn%keys)
				queue = int(crc32.ChecksumIEEE([]byte(key)) % keyQueues)
			}
			body := fmt.Sprintf("%s/%05d", key, next[key])
			for !o.isStored(p, topic, queue, body) {
				// The broker is down: a later one must not overtake it.
				if isOver(ending, pause) {
					return
				}
			}
			next[key]++
			o.wasSent(body)
			if isOver(ending, pause) {
				return
			}
		}
	}()
	var once sync.Once
	end := func() {
		once.Do(func() { close(ending) })
		sending.Wait()
	}
	o.atEnd(end)
	return end
}

func (o *orders) isStored(p rocketmq.Producer, topic string, queue int, body string) bool {
	result, err := p.SendSync(context.Background(), o.message(topic, queue, "a", body))
	return err == nil && result.Status == primitive.SendOK
}

func isOver(ending chan struct{}, pause time.Duration) bool {
	select {
	case <-ending:
		return true
	case <-time.After(pause):
		return false
	}
}

func (o *orders) judged(patience time.Duration) object {
	complete := holds(patience, o.isComplete)
	return o.verdict(o.group("g"), complete)
}

// orderJoiningAndLeaving lets all but one of its members come and go.
func orderJoiningAndLeaving(s *stage) any {
	o := newOrders(s)
	o.join("c2")
	end := o.feed(40 * time.Millisecond)
	chance := rand.New(rand.NewSource(16))
	present := map[int]func(){}
	for began, joined := time.Now(), 0; time.Since(began) < churn; time.Sleep(churn / 10) {
		slot := chance.Intn(4)
		if leave := present[slot]; leave != nil {
			leave()
			delete(present, slot)
			continue
		}
		joined++
		present[slot] = o.join(fmt.Sprintf("c%d-%d", slot, joined))
	}
	end()
	return o.judged(stuck)
}

// orderMemberKilled kills the process of an owner: its queues rest until its locks are 60 s old.
func orderMemberKilled(s *stage) any {
	o := newOrders(s)
	kill := startMember(s, "a", o.topics(), o.ledger)
	end := o.feed(40 * time.Millisecond)
	await("the first member has all queues", 2*patience, func() bool { return o.owns("a", 1+keyQueues) })
	o.join("b")
	kill()
	over := holds(stuck, func() bool { return o.owns("b", 1+keyQueues) })
	end()
	seen := o.judged(patience)
	seen["all queues are the other's"] = over
	return seen
}

// restartOrder kills the broker under a member: its locks are gone, order is not. A second member would wait
// for longer than this test should: the first to come back locks everything, and does not unlock what it
// gives up.
func restartOrder(s *stage) any {
	o := newOrders(s)
	o.join("a")
	end := o.feed(20 * time.Millisecond)
	await("all queues are consumed", 2*patience, func() bool { return o.hasQueues(1+keyQueues) && o.size() > 150 })
	s.control.restart(s.name)
	before := o.size()
	await("it goes on", 2*patience, func() bool { return o.size() > before+150 })
	end()
	return o.judged(stuck)
}

// orderLimit fails a message for ever: it is given as often as the limit says and goes to the dead
// letters; what is behind it waits, and comes in order.
func orderLimit(s *stage) any {
	global, keyed := s.createTopic("global", 1), s.createTopic("keyed", 2)
	p := s.producer("p")
	s.fill(p, global, 0, "a", bodies("g", 4)...)
	s.fill(p, keyed, 0, "a", bodies("m", 4)...)
	s.fill(p, keyed, 1, "a", bodies("n", 4)...)
	fails := map[string]bool{"g-002": true, "n-003": true}
	var lock sync.Mutex
	seen := map[string][]string{}
	heard := map[string]bool{}
	c := s.push(withRetryTopic(s, "g"), "c", consumer.WithConsumerOrder(true), consumer.WithMaxReconsumeTimes(limit),
		consumer.WithSuspendCurrentQueueTimeMillis(100*time.Millisecond), consumer.WithConsumeMessageBatchMaxSize(1))
	for _, topic := range []string{global, keyed} {
		check(c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "*"},
			func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				lock.Lock()
				defer lock.Unlock()
				one := messages[0]
				queue := fmt.Sprintf("%s/%d", one.Topic, one.Queue.QueueId)
				seen[queue] = append(seen[queue], fmt.Sprintf("%s x%d", one.Body, one.ReconsumeTimes))
				heard[string(one.Body)] = true
				if fails[string(one.Body)] {
					return consumer.SuspendCurrentQueueAMoment, nil
				}
				return consumer.ConsumeSuccess, nil
			}))
	}
	check(c.Start())
	await("everything is given", 2*patience, func() bool {
		lock.Lock()
		defer lock.Unlock()
		return heard["g-004"] && heard["m-004"] && heard["n-004"]
	})
	dead := "%DLQ%" + s.group("g")
	await("the route of "+dead, patience, func() bool { return s.isListed(dead) })
	letters := s.readAll(dead, 0, 2)
	// Where each lies among them is chance.
	sort.Slice(letters, func(a, b int) bool { return string(letters[a].Body) < string(letters[b].Body) })
	texts := []object{}
	for _, letter := range letters {
		texts = append(texts, object{"body": string(letter.Body), "times": letter.ReconsumeTimes,
			"properties": letter.GetProperties()})
	}
	aWhile()
	lock.Lock()
	defer lock.Unlock()
	return object{"given": seen, "dead letters": texts}
}
