package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	golang "github.com/apache/rocketmq-clients/golang/v5"
)

const mebibyte = 1 << 20

func init() {
	scenarios["grpc_normal"] = grpcNormal
	scenarios["grpc_fifo"] = grpcFifo
	scenarios["grpc_fifo_shared"] = grpcFifoShared
	scenarios["grpc_delay"] = grpcDelay
	scenarios["grpc_transactions"] = grpcTransactions
	scenarios["grpc_shared"] = grpcShared
	scenarios["grpc_refused"] = grpcRefused
}

// grpcNormal: what is sent comes once, with everything that it was sent with.
func grpcNormal(s *stage) any {
	topic := s.typed("t", "NORMAL", 1)
	s.consumers("g", nil)
	whole := plain(topic, "whole")
	whole.SetTag("A")
	whole.SetKeys("k1", "k2")
	whole.AddProperty("p", "v")
	whole.AddProperty("größe", "große Ü")
	p := s.sender(topic)
	ids := map[string]bool{}
	offsets := []int64{}
	for _, message := range []*golang.Message{whole, plain(topic, "Grüße 你好 😀"), plain(topic, string(noise(mebibyte)))} {
		receipt := send(p, message)
		ids[receipt.MessageID] = true
		offsets = append(offsets, receipt.Offset)
	}
	done := make(chan *golang.SendReceipt, 1)
	p.SendAsync(context.Background(), plain(topic, "later"), func(_ context.Context, all []*golang.SendReceipt, err error) {
		check(err)
		done <- all[0]
	})
	receipt := <-done
	ids[receipt.MessageID] = true
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	messages := received(c, 4, long)
	acknowledge(c, messages...)
	sort.Slice(messages, func(a, b int) bool { return messages[a].GetOffset() < messages[b].GetOffset() })
	came := []object{}
	same := true
	for _, message := range messages {
		came = append(came, sawView(s, message))
		same = same && ids[message.GetMessageId()]
	}
	return object{"offsets": append(offsets, receipt.Offset), "same ids": same && len(ids) == 4, "came": came}
}

// sendGroups sends so many messages to each message group, in turn.
func sendGroups(p golang.Producer, topic string, count int) {
	for number := 0; number < count; number++ {
		for _, group := range []string{"x", "y", "z"} {
			message := plain(topic, fmt.Sprintf("%s%02d", group, number))
			message.SetMessageGroup(group)
			send(p, message)
		}
	}
}

// byGroup are the bodies of each message group, in their order.
func byGroup(bodies []string) map[string][]string {
	found := map[string][]string{}
	for _, body := range bodies {
		found[body[:1]] = append(found[body[:1]], body)
	}
	return found
}

// grpcFifo: each message group in its order, also when a message is not acknowledged at first.
func grpcFifo(s *stage) any {
	topic := s.typed("t", "FIFO", 2)
	s.consumers("g", object{"consumeMessageOrderly": true})
	sendGroups(s.sender(topic), topic, 5)
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	came := []string{}
	attempts := []int32{}
	var group any
	await("all messages are acknowledged", 2*patience, func() bool {
		messages, _ := c.Receive(context.Background(), 1, short)
		for _, message := range messages {
			body := string(message.GetBody())
			came = append(came, body)
			group = optional(message.GetMessageGroup())
			if body == "y02" {
				attempts = append(attempts, message.GetDeliveryAttempt())
			}
			if body != "y02" || len(attempts) > 1 {
				acknowledge(c, message)
			}
		}
		return len(came) >= 16
	})
	return object{"came": byGroup(came), "attempts of y02": attempts, "has its group": group != nil}
}

// grpcFifoShared: the order holds also where several receive at a time.
func grpcFifoShared(s *stage) any {
	topic := s.typed("t", "FIFO", 4)
	s.consumers("g", object{"consumeMessageOrderly": true})
	sendGroups(s.sender(topic), topic, 20)
	var lock sync.Mutex
	came := []string{}
	shared(s, topic, 3, func(_ golang.SimpleConsumer, messages []*golang.MessageView) bool {
		lock.Lock()
		defer lock.Unlock()
		came = append(came, bodiesOf(messages)...)
		return len(came) >= 60
	})
	return byGroup(came)
}

// grpcDelay: nothing comes before its time.
func grpcDelay(s *stage) any {
	topic := s.typed("t", "DELAY", 1)
	s.consumers("g", nil)
	p := s.sender(topic)
	began := time.Now()
	due := map[string]time.Time{"later": began.Add(8 * time.Second), "sooner": began.Add(4 * time.Second)}
	for _, body := range []string{"later", "sooner"} {
		message := plain(topic, body)
		message.SetDelayTimestamp(due[body])
		send(p, message)
	}
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	seen := []object{}
	for len(seen) < 2 {
		for _, message := range received(c, 1, long) {
			body := string(message.GetBody())
			// The broker counts in seconds.
			early := time.Until(due[body]) > time.Second
			seen = append(seen, merged(sawView(s, message), object{"too early": early}))
			acknowledge(c, message)
		}
	}
	return seen
}

// grpcTransactions: committed, rolled back, and asked for.
func grpcTransactions(s *stage) any {
	topic := s.typed("t", "TRANSACTION", 1)
	s.consumers("g", nil)
	var lock sync.Mutex
	asked := map[string]int{}
	var question object
	answer := func(message *golang.MessageView) golang.TransactionResolution {
		lock.Lock()
		defer lock.Unlock()
		body := string(message.GetBody())
		asked[body]++
		switch {
		case body == "asked, rollback":
			return golang.ROLLBACK
		case body == "asked twice, commit" && asked[body] == 1:
			return golang.UNKNOWN
		}
		if body == "asked, commit" {
			question = sawView(s, message)
			// All scenarios share the queue of half messages.
			delete(question, "offset")
		}
		return golang.COMMIT
	}
	p := s.transactional(&golang.TransactionChecker{Check: answer}, topic)
	for _, body := range []string{"commit", "rollback", "asked, commit", "asked, rollback", "asked twice, commit"} {
		message := plain(topic, body)
		message.SetTag("A")
		message.SetKeys("k1")
		message.AddProperty("p", "v")
		transaction := p.BeginTransaction()
		_, err := p.SendWithTransaction(context.Background(), message, transaction)
		check(err)
		switch body {
		case "commit":
			check(transaction.Commit())
		case "rollback":
			check(transaction.RollBack())
		}
	}
	c := s.receiver("g", filters{topic: golang.SUB_ALL})
	found := map[string]bool{}
	await("all that was committed", 2*patience, func() bool {
		messages := received(c, 1, long)
		acknowledge(c, messages...)
		// The real broker may ask once more about what was ended, and deliver it again.
		for _, body := range bodiesOf(messages) {
			found[body] = true
		}
		return len(found) >= 3
	})
	await("all questions", patience, func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(asked) >= 3
	})
	aWhile()
	lock.Lock()
	defer lock.Unlock()
	return object{
		"came": sortedKeys(found), "asked": sortedKeys(asked), "question": question,
		"asked twice": asked["asked twice, commit"] > 1,
	}
}

// grpcShared: one topic for the clients of both protocols, both ways.
func grpcShared(s *stage) any {
	topic := s.typed("t", "NORMAL", 1)
	s.consumers("new", nil)
	got := &inbox{}
	listen(s.push(withRetryTopic(s, "old"), "old"), topic, "*", "old", got)
	message := plain(topic, "from new")
	message.SetTag("A")
	message.SetKeys("k1", "k2")
	message.AddProperty("p", "v")
	send(s.sender(topic), message)
	sendOld(s, s.producer("p"), topic)
	c := s.receiver("new", filters{topic: golang.SUB_ALL})
	messages := received(c, 2, long)
	acknowledge(c, messages...)
	got.awaitSize(2)
	aWhile()
	sort.Slice(messages, func(a, b int) bool { return messages[a].GetOffset() < messages[b].GetOffset() })
	seen := []object{}
	for _, one := range messages {
		seen = append(seen, sawView(s, one))
	}
	old := []object{}
	for _, one := range byOffset(got.arrivals()) {
		names := sortedKeys(one.GetProperties())
		old = append(old, object{
			"body": string(one.Body), "tag": one.GetTags(), "keys": one.GetKeys(), "p": one.GetProperty("p"),
			"properties": strings.Join(names, " "), "sysFlag": one.SysFlag, "flag": one.Flag,
		})
	}
	return object{"new": seen, "old": old}
}

func sendOld(s *stage, p rocketmq.Producer, topic string) {
	message := s.message(topic, 0, "B", "from old")
	message.WithKeys([]string{"k3", "k4"})
	message.WithProperty("p", "v")
	message.Flag = 7
	result, err := p.SendSync(context.Background(), message)
	check(err)
	if result.Status != primitive.SendOK {
		panic(fmt.Sprint("status ", result.Status))
	}
}

// grpcRefused: the proxy compares a message with its topic's type, which it asks the broker for.
func grpcRefused(s *stage) any {
	normal, fifo, transaction := s.typed("t", "NORMAL", 1), s.typed("f", "FIFO", 1), s.typed("x", "TRANSACTION", 1)
	p := s.sender(normal, fifo, transaction)
	tried := func(message *golang.Message) any {
		_, err := p.Send(context.Background(), message)
		return refusal(err)
	}
	delayed := plain(normal, "x")
	delayed.SetDelayTimestamp(time.Now().Add(5 * time.Second))
	grouped := plain(normal, "x")
	grouped.SetMessageGroup("g")
	tagged := plain(normal, "x")
	tagged.SetTag("a|b")
	reserved := plain(normal, "x")
	reserved.AddProperty("TAGS", "v")
	_, err := p.SendWithTransaction(context.Background(), plain(normal, "x"), p.BeginTransaction())
	return object{
		"delayed, to a normal topic":        tried(delayed),
		"of a group, to a normal topic":     tried(grouped),
		"of a transaction, to a normal one": refusal(err),
		"normal, to an ordered topic":       tried(plain(fifo, "x")),
		"normal, to one of transactions":    tried(plain(transaction, "x")),
		"to an unknown topic":               tried(plain(s.topic("unknown"), "x")),
		"tag with a bar":                    tried(tagged),
		"property of the system":            tried(reserved),
		"too big":                           tried(plain(normal, string(noise(4*mebibyte+1)))),
		"none of them harms":                tried(plain(normal, "y")),
	}
}
