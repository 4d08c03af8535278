// What member.go and ordered.go, two programs, have in common: how a key's queue is chosen, and who sends to it.
package main

import (
	"hash/fnv"
	"strconv"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// byKey is a function of the key and the list of queues alone.
type byKey struct{}

func (byKey) Select(message *primitive.Message, queues []*primitive.MessageQueue, _ string) *primitive.MessageQueue {
	hash := fnv.New32a()
	_, err := hash.Write([]byte(message.GetKeys()))
	must(err)
	wanted := int(hash.Sum32() % uint32(len(queues)))
	for _, queue := range queues {
		if queue.QueueId == wanted {
			return queue
		}
	}
	return queues[wanted]
}

func started(namesrv string) rocketmq.Producer {
	made, err := rocketmq.NewProducer(
		producer.WithNameServer([]string{namesrv}),
		producer.WithQueueSelector(byKey{}),
		producer.WithRetry(0),
	)
	must(err)
	must(made.Start())
	return made
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func number(text string) int {
	found, err := strconv.Atoi(text)
	must(err)
	return found
}
