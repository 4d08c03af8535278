package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

func init() {
	scenarios["push_messages"] = pushMessages
	scenarios["push_joining_and_leaving"] = pushJoiningAndLeaving
	scenarios["push_broadcasting"] = pushBroadcasting
	scenarios["push_start_offsets"] = pushStartOffsets
	scenarios["push_goes_on"] = pushGoesOn
	scenarios["filter_tags"] = filterTags
	scenarios["order_queues"] = orderQueues
	scenarios["order_suspend"] = orderSuspend
	scenarios["order_hand_over"] = orderHandOver
	scenarios["retry_once"] = retryOnce
	scenarios["retry_to_dead_letters"] = retryToDeadLetters
}

type handler func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

// listen subscribes and starts; every message goes to the inbox.
func listen(c rocketmq.PushConsumer, topic, tags, who string, into *inbox) {
	listenWith(c, topic, tags, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		into.add(who, messages...)
		return consumer.ConsumeSuccess, nil
	})
}

func listenWith(c rocketmq.PushConsumer, topic, tags string, do handler) {
	check(c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: tags}, do))
	check(c.Start())
}

// withRetryTopic makes the group's retry topic first. A consumer that subscribes to a topic without a
// route asks again half a minute later only.
func withRetryTopic(s *stage, group string) string {
	s.createNamed("%RETRY%"+s.group(group), 1)
	return group
}

func pushMessages(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	s.fill(p, topic, 0, "TagA", bodies("a", 3)...)
	s.fill(p, topic, 1, "TagB", bodies("b", 3)...)
	got := &inbox{}
	c := s.push(withRetryTopic(s, "g"), "c")
	listen(c, topic, "*", "c", got)
	got.awaitSize(6)
	aWhile()
	messages := sawMessages(byOffset(got.arrivals()))
	for _, message := range messages {
		delete(message["properties"].(map[string]string), "CONSUME_START_TIME")
	}
	return object{"messages": messages}
}

// share sends one message to each queue and tells which consumer got those of which queues.
func share(s *stage, p rocketmq.Producer, topic string, queues int, got *inbox, round int) map[string][]int {
	mark := fmt.Sprintf("round-%03d", round)
	for queue := 0; queue < queues; queue++ {
		s.fill(p, topic, queue, "", fmt.Sprintf("%s/%d", mark, queue))
	}
	found := map[int]string{}
	await("all queues are consumed", 2*patience, func() bool {
		for _, one := range got.arrivals() {
			if strings.HasPrefix(string(one.message.Body), mark) {
				found[one.message.Queue.QueueId] = one.who
			}
		}
		return len(found) == queues
	})
	shares := map[string][]int{}
	for queue, who := range found {
		shares[who] = append(shares[who], queue)
		sort.Ints(shares[who])
	}
	return shares
}

// settled repeats rounds until every consumer that should get something does, in one whole run of queues.
func settled(s *stage, p rocketmq.Producer, topic string, got *inbox, members int, round *int) map[string][]int {
	var shares map[string][]int
	await(fmt.Sprintf("%d members share", members), 2*patience, func() bool {
		*round++
		shares = share(s, p, topic, 4, got, *round)
		if len(shares) != members {
			return false
		}
		for _, queues := range shares {
			if len(queues) != 4/members {
				return false
			}
		}
		return true
	})
	return shares
}

func pushJoiningAndLeaving(s *stage) any {
	topic := s.createTopic("t", 4)
	p := s.producer("p")
	got := &inbox{}
	round := 0
	withRetryTopic(s, "g")
	first := s.push("g", "c1")
	listen(first, topic, "*", "first", got)
	seen := object{}
	seen["alone"] = settled(s, p, topic, got, 1, &round)
	second := s.push("g", "c2")
	listen(second, topic, "*", "second", got)
	seen["two"] = settled(s, p, topic, got, 2, &round)
	check(first.Shutdown())
	seen["one left"] = settled(s, p, topic, got, 1, &round)
	seen["nothing lost"] = len(got.texts()) == 4*round
	return seen
}

func pushBroadcasting(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	s.fill(p, topic, 0, "", bodies("a", 3)...)
	s.fill(p, topic, 1, "", bodies("b", 3)...)
	seen := object{}
	for _, who := range []string{"c1", "c2"} {
		got := &inbox{}
		c := s.push("g", who, consumer.WithConsumerModel(consumer.BroadCasting))
		listen(c, topic, "*", who, got)
		got.awaitSize(6)
		aWhile()
		seen[who] = object{"bodies": got.texts(), "deliveries": got.size()}
	}
	return seen
}

func pushStartOffsets(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	s.fill(p, topic, 0, "", bodies("old", 3)...)
	time.Sleep(2 * time.Second)
	between := time.Now().Add(-time.Second)
	s.fill(p, topic, 0, "", bodies("new", 3)...)
	s.readAll(topic, 0, 6)
	starts := map[string][]consumer.Option{
		"first": {consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset)},
		"last":  {consumer.WithConsumeFromWhere(consumer.ConsumeFromLastOffset)},
		"time": {consumer.WithConsumeFromWhere(consumer.ConsumeFromTimestamp),
			consumer.WithConsumeTimestamp(between.Format("20060102150405"))},
	}
	seen := object{}
	for name, options := range starts {
		got := &inbox{}
		c := s.push(name, name, options...)
		listen(c, topic, "*", name, got)
		s.fill(p, topic, 0, "", "mark for "+name)
		await("the mark for "+name, patience, func() bool {
			for _, text := range got.texts() {
				if text == "mark for "+name {
					return true
				}
			}
			return false
		})
		aWhile()
		texts := []string{}
		for _, text := range got.texts() {
			// The marks of those that were before this one come in any order.
			if !strings.HasPrefix(text, "mark") {
				texts = append(texts, text)
			}
		}
		seen[name] = texts
	}
	return seen
}

// pushGoesOn stops a consumer and starts another one of the group: it goes on behind the first.
func pushGoesOn(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	withRetryTopic(s, "g")
	s.fill(p, topic, 0, "", bodies("before", 5)...)
	first := &inbox{}
	c := s.push("g", "c1")
	listen(c, topic, "*", "c1", first)
	first.awaitSize(5)
	check(c.Shutdown())
	s.fill(p, topic, 0, "", bodies("between", 5)...)
	second := &inbox{}
	listen(s.push("g", "c2"), topic, "*", "c2", second)
	second.awaitSize(5)
	aWhile()
	return object{"first": first.texts(), "second": second.texts(), "deliveries": second.size()}
}

func filterTags(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	for _, tag := range []string{"A", "B", "C", "", "A", "AaAa", "BBBB"} {
		s.fill(p, topic, 0, tag, "tag "+tag)
	}
	seen := object{}
	expressions := map[string]int{"A": 2, "A || C": 3, "*": 7, "AaAa": 1, "Nobody || B": 1}
	for _, expression := range sortedKeys(expressions) {
		name := strings.NewReplacer(" ", "", "|", "-", "*", "all").Replace(expression)
		got := &inbox{}
		listen(s.push(name, name), topic, expression, name, got)
		got.awaitSize(expressions[expression])
		texts := []string{}
		for _, message := range byOffset(got.arrivals()) {
			texts = append(texts, fmt.Sprintf("%d: %s", message.QueueOffset, message.Body))
		}
		seen[expression] = texts
	}
	return seen
}

func orderQueues(s *stage) any {
	topic := s.createTopic("t", 3)
	p := s.producer("p")
	for queue := 0; queue < 3; queue++ {
		s.fill(p, topic, queue, "", bodies(fmt.Sprint("q", queue), 20)...)
	}
	got := &inbox{}
	c := s.push(withRetryTopic(s, "g"), "c", consumer.WithConsumerOrder(true))
	listen(c, topic, "*", "c", got)
	got.awaitSize(60)
	aWhile()
	return object{"by queue": inOrder(got, 3), "deliveries": got.size()}
}

// inOrder is what each queue's deliveries were, in their order.
func inOrder(got *inbox, queues int) [][]string {
	all := make([][]string, queues)
	for _, one := range got.arrivals() {
		id := one.message.Queue.QueueId
		all[id] = append(all[id], string(one.message.Body))
	}
	return all
}

// orderSuspend fails one message twice: its queue waits for it, the other one goes on.
func orderSuspend(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	s.fill(p, topic, 0, "", bodies("a", 5)...)
	s.fill(p, topic, 1, "", bodies("b", 5)...)
	got := &inbox{}
	failures := 0
	c := s.push(withRetryTopic(s, "g"), "c", consumer.WithConsumerOrder(true),
		consumer.WithSuspendCurrentQueueTimeMillis(300*time.Millisecond), consumer.WithConsumeMessageBatchMaxSize(1))
	listenWith(c, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		got.add("c", messages...)
		if string(messages[0].Body) == "a-003" && failures < 2 {
			failures++
			return consumer.SuspendCurrentQueueAMoment, nil
		}
		return consumer.ConsumeSuccess, nil
	})
	got.awaitSize(12)
	aWhile()
	times := []int32{}
	for _, one := range got.arrivals() {
		if string(one.message.Body) == "a-003" {
			times = append(times, one.message.ReconsumeTimes)
		}
	}
	return object{"by queue": inOrder(got, 2), "deliveries of the failing one": len(times)}
}

// orderHandOver shuts an owner down; the other member goes on where it stopped, in order.
func orderHandOver(s *stage) any {
	topic := s.createTopic("t", 4)
	p := s.producer("p")
	withRetryTopic(s, "g")
	got := &inbox{}
	round := 0
	lockOften := consumer.WithRebalanceLockInterval(time.Second)
	first := s.push("g", "c1", consumer.WithConsumerOrder(true), lockOften)
	listen(first, topic, "*", "first", got)
	alone := settled(s, p, topic, got, 1, &round)
	second := s.push("g", "c2", consumer.WithConsumerOrder(true), lockOften)
	listen(second, topic, "*", "second", got)
	two := settled(s, p, topic, got, 2, &round)
	check(first.Shutdown())
	left := settled(s, p, topic, got, 1, &round)
	ordered := true
	for _, texts := range inOrder(got, 4) {
		distinct := []string{}
		for at, text := range texts {
			// What the old owner had not committed comes twice, in a row of its own.
			if at == 0 || text > distinct[len(distinct)-1] {
				distinct = append(distinct, text)
			}
		}
		ordered = ordered && len(distinct) == round
	}
	return object{"alone": alone, "two": two, "one left": left, "in order, nothing lost": ordered}
}

func retryOnce(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	message := s.message(topic, 0, "TagA", "again please")
	message.WithKeys([]string{"key"})
	message.WithProperty("user", "value")
	_, err := p.SendSync(context.Background(), message)
	check(err)
	got := &inbox{}
	seen := []object{}
	c := s.push(withRetryTopic(s, "g"), "c", consumer.WithConsumeMessageBatchMaxSize(1))
	listenWith(c, topic, "*", func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		one := sawMessage(messages[0])
		delete(one["properties"].(map[string]string), "CONSUME_START_TIME")
		seen = append(seen, one)
		got.add("c", messages...)
		if got.size() > 1 {
			return consumer.ConsumeSuccess, nil
		}
		if how, ok := primitive.GetConcurrentlyCtx(ctx); ok {
			how.DelayLevelWhenNextConsume = 1
		}
		return consumer.ConsumeRetryLater, nil
	})
	got.awaitSize(2)
	aWhile()
	return object{"deliveries": seen}
}

func retryToDeadLetters(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	s.fill(p, topic, 0, "TagA", "hopeless")
	got := &inbox{}
	times := []int32{}
	c := s.push(withRetryTopic(s, "g"), "c", consumer.WithMaxReconsumeTimes(2),
		consumer.WithConsumeMessageBatchMaxSize(1))
	listenWith(c, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		times = append(times, messages[0].ReconsumeTimes)
		got.add("c", messages...)
		return consumer.ConsumeRetryLater, nil
	})
	got.awaitSize(3)
	dead := "%DLQ%" + s.group("g")
	await("the route of "+dead, patience, func() bool { return s.isListed(dead) })
	return object{"times": times, "dead letters": sawMessages(s.readAll(dead, 0, 1))}
}
