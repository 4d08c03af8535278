package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	golang "github.com/apache/rocketmq-clients/golang/v5"
)

func init() {
	scenarios["grpc_simple"] = grpcSimple
	scenarios["grpc_again"] = grpcAgain
	scenarios["grpc_dead_letters"] = grpcDeadLetters
	scenarios["grpc_filters"] = grpcFilters
	scenarios["grpc_topics"] = grpcTopics
	scenarios["grpc_many"] = grpcMany
	scenarios["grpc_kill9"] = grpcKill9
}

// shared lets several clients of the group g receive side by side, until one of them says that all has come.
// Everything is acknowledged, after do has seen it.
func shared(s *stage, topic string, clients int, do func(golang.SimpleConsumer, []*golang.MessageView) bool) {
	var running sync.WaitGroup
	done := make(chan struct{})
	var once sync.Once
	end := time.Now().Add(2 * patience)
	for client := 0; client < clients; client++ {
		c := s.receiver("g", filters{topic: golang.SUB_ALL})
		running.Add(1)
		go func() {
			defer running.Done()
			for !isOver(done) && time.Now().Before(end) {
				messages, _ := c.Receive(context.Background(), 8, long)
				all := do(c, messages)
				for _, message := range messages {
					// A failure shows, for the message comes again.
					_ = c.Ack(context.Background(), message)
				}
				if all {
					once.Do(func() { close(done) })
				}
			}
		}()
	}
	running.Wait()
	if !isOver(done) {
		panic("not all messages came")
	}
}

func isOver(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// isEmpty asks once, and gives the answer: nothing is there, or what is, or a refusal.
func isEmpty(c golang.SimpleConsumer) any {
	var answer any
	holds(short, func() bool {
		messages, err := c.Receive(context.Background(), 16, long)
		answer = refusal(err)
		if len(messages) > 0 {
			answer = bodiesOf(messages)
		}
		// The client sends its settings and does not wait until the proxy has them: a receiver that was just
		// started may be refused.
		return answer != "INTERNAL_SERVER_ERROR"
	})
	return answer
}

// grpcSimple: receiving, acknowledging some, making others visible sooner.
func grpcSimple(s *stage) any {
	topic := s.typed("t", "NORMAL", 1)
	s.consumers("g", nil)
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	nothing := isEmpty(c)
	p := s.sender(topic)
	for _, body := range []string{"a", "b", "c"} {
		send(p, plain(topic, body))
	}
	first := received(c, 3, long)
	seen := object{"before": nothing, "first": sorted(bodiesOf(first)), "nothing is visible": isEmpty(c)}
	began := time.Now()
	var done *golang.MessageView
	for _, message := range first {
		if string(message.GetBody()) == "a" {
			acknowledge(c, message)
			done = message
			continue
		}
		handle := message.GetReceiptHandle()
		check(c.ChangeInvisibleDuration(message, short))
		seen["a new handle for "+string(message.GetBody())] = message.GetReceiptHandle() != handle
	}
	second := received(c, 2, long)
	seen["not before its time"] = time.Since(began) > short-time.Second
	seen["second"] = sorted(bodiesOf(second))
	attempts := []int32{}
	for _, message := range second {
		attempts = append(attempts, message.GetDeliveryAttempt())
	}
	seen["attempts"] = attempts
	acknowledge(c, second...)
	seen["after"] = isEmpty(c)
	// The client drops what the proxy says of an acknowledgement.
	seen["acknowledged twice"] = refusal(c.Ack(context.Background(), second[0]))
	seen["time of what is acknowledged"] = refusal(c.ChangeInvisibleDuration(done, short))
	done.ReceiptHandle = "x"
	seen["time of no handle"] = refusal(c.ChangeInvisibleDuration(done, short))
	_, err := c.Receive(context.Background(), 1, time.Second)
	seen["hidden for too short"] = refusal(err)
	return seen
}

// grpcAgain: what nobody acknowledges comes again after its time, and each time that is counted.
func grpcAgain(s *stage) any {
	topic := s.typed("t", "NORMAL", 1)
	s.consumers("g", nil)
	message := plain(topic, "again")
	message.SetTag("A")
	message.SetKeys("k1")
	message.AddProperty("p", "v")
	send(s.sender(topic), message)
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	seen := []object{}
	ids := map[string]bool{}
	last := time.Time{}
	var one *golang.MessageView
	for len(seen) < 3 {
		before := one
		one = received(c, 1, short)[0]
		view := sawView(s, one)
		ids[one.GetMessageId()] = true
		view["too early"] = time.Since(last) < short-time.Second
		last = time.Now()
		if before != nil {
			view["time of the last handle"] = refusal(c.ChangeInvisibleDuration(before, short))
		}
		seen = append(seen, view)
	}
	acknowledge(c, one)
	return object{"seen": seen, "ids": len(ids), "after": isEmpty(c)}
}

// grpcDeadLetters: what is never acknowledged goes to the dead letters, where a 4.x client finds it.
func grpcDeadLetters(s *stage) any {
	topic := s.typed("t", "NORMAL", 1)
	s.consumers("g", object{"retryMaxTimes": 1})
	p := s.sender(topic)
	send(p, plain(topic, "bad"))
	send(p, plain(topic, "good"))
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	attempts := map[string][]int32{}
	dead := "%DLQ%" + s.group("g")
	await("a dead letter", 3*patience, func() bool {
		messages, _ := c.Receive(context.Background(), 16, short)
		for _, message := range messages {
			body := string(message.GetBody())
			attempts[body] = append(attempts[body], message.GetDeliveryAttempt())
			if body == "good" {
				acknowledge(c, message)
			}
		}
		return s.isListed(dead)
	})
	letter := s.readAll(dead, 0, 1)[0]
	return object{
		"attempts": attempts, "dead": string(letter.Body), "of": letter.GetProperty("DLQ_ORIGIN_TOPIC") == topic,
		"after": isEmpty(c),
	}
}

func grpcFilters(s *stage) any {
	topic := s.typed("t", "NORMAL", 2)
	p := s.sender(topic)
	for number := 0; number < 6; number++ {
		tag := []string{"A", "B", "C"}[number%3]
		message := plain(topic, fmt.Sprintf("%s%d", tag, number))
		message.SetTag(tag)
		message.AddProperty("n", fmt.Sprint(number))
		send(p, message)
	}
	seen := object{}
	for name, filter := range map[string]*golang.FilterExpression{
		"tag":  golang.NewFilterExpression("B"),
		"tags": golang.NewFilterExpression("A || C"),
		"sql":  golang.NewFilterExpressionWithType("TAGS = 'B' OR n > 2", golang.SQL92),
		"none": golang.NewFilterExpression("D"),
	} {
		s.consumers(name, nil)
		c := s.receiver(name, filters{topic: filter})
		count := map[string]int{"tag": 2, "tags": 4, "sql": 4}[name]
		messages := received(c, count, long)
		acknowledge(c, messages...)
		seen[name] = object{"came": sorted(bodiesOf(messages)), "after": isEmpty(c)}
	}
	s.consumers("broken", nil)
	broken := golang.NewFilterExpressionWithType("n > ", golang.SQL92)
	seen["broken"] = isEmpty(s.receiver("broken", filters{topic: broken}))
	return seen
}

// grpcTopics: subscriptions that come and go while the client runs.
func grpcTopics(s *stage) any {
	one, two := s.typed("one", "NORMAL", 1), s.typed("two", "NORMAL", 1)
	s.consumers("g", nil)
	p := s.sender(one, two)
	c := s.receiver("g", filters{})
	seen := object{"of none": isEmpty(c), "unknown": refusal(c.Subscribe(s.topic("unknown"), golang.SUB_ALL))}
	check(c.Subscribe(one, golang.SUB_ALL))
	check(c.Subscribe(two, golang.NewFilterExpression("A")))
	for _, topic := range []string{one, two} {
		message := plain(topic, "a")
		message.SetTag("A")
		send(p, message)
		send(p, plain(topic, "b"))
	}
	messages := received(c, 3, long)
	acknowledge(c, messages...)
	came := []string{}
	for _, message := range messages {
		came = append(came, message.GetTopic()[len(s.topic("")):]+" "+string(message.GetBody()))
	}
	seen["of both"] = sorted(came)
	check(c.Unsubscribe(one))
	send(p, plain(one, "not any more"))
	seen["of two"] = isEmpty(c)
	return seen
}

// grpcMany: several clients share a topic, and each message comes to one of them.
func grpcMany(s *stage) any {
	const count = 200
	topic := s.typed("t", "NORMAL", 4)
	s.consumers("g", nil)
	p := s.sender(topic)
	for _, body := range bodies("m", count) {
		send(p, plain(topic, body))
	}
	var lock sync.Mutex
	came := map[string]int{}
	attempts := map[int32]bool{}
	shared(s, topic, 3, func(_ golang.SimpleConsumer, messages []*golang.MessageView) bool {
		lock.Lock()
		defer lock.Unlock()
		for _, message := range messages {
			came[string(message.GetBody())]++
			attempts[message.GetDeliveryAttempt()] = true
		}
		return len(came) >= count
	})
	twice := 0
	for _, times := range came {
		if times > 1 {
			twice++
		}
	}
	return object{"came": len(came), "twice": twice, "attempts": len(attempts)}
}

// grpcKill9: the broker is killed and started while a consumer has messages that it has not acknowledged.
func grpcKill9(s *stage) any {
	topic := s.typed("t", "NORMAL", 2)
	s.consumers("g", nil)
	p := s.sender(topic)
	for _, body := range []string{"a", "b", "c"} {
		send(p, plain(topic, body))
	}
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	for _, message := range received(c, 3, 2*short) {
		if string(message.GetBody()) == "a" {
			acknowledge(c, message)
		}
	}
	s.control.restart(s.name)
	for _, body := range []string{"d", "e", "f"} {
		await(body+" is sent", 2*patience, func() bool {
			_, err := p.Send(context.Background(), plain(topic, body))
			return err == nil
		})
	}
	found := map[string]bool{}
	await("all have come", 2*patience, func() bool {
		messages, _ := c.Receive(context.Background(), 16, long)
		for _, message := range messages {
			// An acknowledgement may be lost with the broker, and a send be repeated.
			if body := string(message.GetBody()); body != "a" {
				found[body] = true
			}
			_ = c.Ack(context.Background(), message)
		}
		return len(found) >= 5
	})
	return sortedKeys(found)
}
