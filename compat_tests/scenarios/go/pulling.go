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
	scenarios["pull_statuses"] = pullStatuses
	scenarios["pull_tags"] = pullTags
	scenarios["pull_held"] = pullHeld
	scenarios["pull_poll"] = pullPoll
	scenarios["pull_offsets"] = pullOffsets
}

func sawPull(result *primitive.PullResult, err error) any {
	if err != nil {
		return sawError(err)
	}
	texts := []string{}
	for _, message := range result.GetMessageExts() {
		texts = append(texts, fmt.Sprintf("%d: %s", message.QueueOffset, message.Body))
	}
	return object{
		"status":   result.Status,
		"next":     result.NextBeginOffset,
		"min":      result.MinOffset,
		"max":      result.MaxOffset,
		"suggests": result.SuggestWhichBrokerId,
		"messages": texts,
	}
}

func filled(s *stage, tags ...string) (string, rocketmq.Producer) {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	for _, tag := range tags {
		s.fill(p, topic, 0, tag, "tag "+tag)
	}
	s.readAll(topic, 0, len(tags))
	return topic, p
}

func pullStatuses(s *stage) any {
	topic, _ := filled(s, "A", "B", "A", "C", "B")
	c := s.pull("g", "c", topic, "*")
	from := func(topic string, queue int, offset int64, count int) any {
		return sawPull(c.PullFrom(context.Background(), s.queue(topic, queue), offset, count))
	}
	return object{
		"everything":      from(topic, 0, 0, 32),
		"two":             from(topic, 0, 1, 2),
		"more than 32":    from(topic, 0, 0, 100),
		"beyond the end":  from(topic, 0, 7, 32),
		"far beyond":      from(topic, 0, 1<<40, 32),
		"negative":        from(topic, 0, -1, 32),
		"none":            from(topic, 0, 0, 0),
		"queue of nobody": from(topic, 9, 0, 32),
		"empty, beyond":   from(topic, 1, 3, 32),
		"topic of nobody": from(s.topic("nobody"), 0, 0, 32),
	}
}

func pullTags(s *stage) any {
	topic, _ := filled(s, "A", "B", "A", "C", "B")
	seen := object{}
	for name, tags := range map[string]string{"a": "A", "ab": "A || B", "none": "Nobody", "all": "*"} {
		c := s.pull(name, name, topic, tags)
		seen[tags] = sawPull(c.PullFrom(context.Background(), s.queue(topic, 0), 0, 32))
	}
	return seen
}

// pullHeld asks at the end of the queue: the answer comes with the next message.
func pullHeld(s *stage) any {
	topic, p := filled(s, "A")
	c := s.pull("g", "c", topic, "*")
	answer := make(chan any, 1)
	go func() {
		answer <- sawPull(c.PullFrom(context.Background(), s.queue(topic, 0), 1, 32))
	}()
	select {
	case early := <-answer:
		return object{"answered before there was anything": early}
	case <-time.After(time.Second):
	}
	s.fill(p, topic, 0, "B", "tag B")
	return object{"answer": <-answer}
}

// pullPoll lets the client pull by itself and acknowledges what it hands out.
func pullPoll(s *stage) any {
	topic, p := filled(s, "A", "B")
	s.fill(p, topic, 1, "C", "tag C")
	c := s.pull("g", "c", topic, "*")
	texts := map[string]bool{}
	holds(patience, func() bool {
		request, err := c.Poll(context.Background(), time.Second)
		if err == nil {
			for _, message := range request.GetMsgList() {
				texts[string(message.Body)] = true
			}
			c.ACK(context.Background(), request, consumer.ConsumeSuccess)
		}
		return len(texts) == 3
	})
	check(c.PersistOffset(context.Background(), topic))
	offsets := []int64{}
	for queue := 0; queue < 2; queue++ {
		offset, err := c.CurrentOffset(s.queue(topic, queue))
		check(err)
		offsets = append(offsets, offset)
	}
	return object{"bodies": sortedKeys(texts), "offsets": offsets}
}

// pullOffsets keeps offsets on the broker and lets another member of the group find them.
func pullOffsets(s *stage) any {
	topic, _ := filled(s, "A", "B", "A")
	seen := object{}
	c := s.pull("g", "c1", topic, "*")
	for _, offset := range []int64{2, 1, 3, 100} {
		queue := s.queue(topic, 0)
		check(c.UpdateOffset(queue, offset))
		check(c.PersistOffset(context.Background(), topic))
		now, err := c.CurrentOffset(queue)
		check(err)
		seen[fmt.Sprint("after ", offset)] = now
	}
	return seen
}
