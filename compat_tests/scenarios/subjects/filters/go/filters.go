package main

import (
	"context"
	"fmt"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

func init() {
	scenarios["filters_push"] = filtersPush
	scenarios["filters_unreadable"] = filtersUnreadable
	// A restart is asked for by scenarios that are called so (control).
	scenarios["restart_filters"] = restartFilters
}

var colors = []string{"red", "green", "blue", ""}

// fillNumbers sends messages from `first` on to two queues in turn: a number, and for most a color.
func fillNumbers(s *stage, p rocketmq.Producer, topic string, first, count int) {
	for n := first; n < first+count; n++ {
		made := s.message(topic, n%2, "", fmt.Sprintf("m-%03d", n))
		made.WithProperty("number", fmt.Sprint(n))
		if colors[n%4] != "" {
			made.WithProperty("color", colors[n%4])
		}
		_, err := p.SendSync(context.Background(), made)
		check(err)
	}
}

// listenBySQL subscribes and starts; every message goes to the inbox.
func listenBySQL(s *stage, group, topic, expression string, into *inbox) rocketmq.PushConsumer {
	made := s.push(withRetryTopic(s, group), group)
	selector := consumer.MessageSelector{Type: consumer.SQL92, Expression: expression}
	check(made.Subscribe(topic, selector,
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			into.add(group, messages...)
			return consumer.ConsumeSuccess, nil
		}))
	check(made.Start())
	return made
}

func filtersPush(s *stage) any {
	topic := s.createTopic("t", 2)
	fillNumbers(s, s.producer("p"), topic, 0, 24)
	seen := object{}
	for at, expected := range []struct {
		expression string
		count      int
	}{
		{"number > 20", 3},
		{"color = 'red' AND number < 9", 3},
		{"color IS NULL", 6},
		{"number BETWEEN 3 AND 5 OR color IN ('blue')", 8},
		{"number > color", 0},
	} {
		got := &inbox{}
		listenBySQL(s, fmt.Sprintf("g%d", at), topic, expected.expression, got)
		got.awaitSize(expected.count)
		aWhile()
		seen[expected.expression] = got.texts()
	}
	return seen
}

// This client does not ask the broker first: it starts, and its pulls are refused.
func filtersUnreadable(s *stage) any {
	topic := s.createTopic("t", 2)
	fillNumbers(s, s.producer("p"), topic, 0, 4)
	got := &inbox{}
	listenBySQL(s, "g", topic, "number >", got)
	time.Sleep(5 * time.Second)
	return got.texts()
}

func restartFilters(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	got := &inbox{}
	listenBySQL(s, "g", topic, "color = 'red'", got)
	fillNumbers(s, p, topic, 0, 12)
	got.awaitSize(3)
	// What it has got is committed every five seconds.
	time.Sleep(6 * time.Second)
	s.control.restart(s.name)
	await("sending works again", 2*patience, func() bool {
		made := s.message(topic, 0, "", "probe")
		_, err := p.SendSync(context.Background(), made)
		return err == nil
	})
	fillNumbers(s, p, topic, 12, 12)
	got.awaitSize(6)
	aWhile()
	return got.texts()
}
