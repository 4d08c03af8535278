// What member.go and ordered.go, two programs, have in common: how a key's queue is chosen.
package main

import (
	"hash/fnv"
	"strconv"

	"github.com/apache/rocketmq-client-go/v2/primitive"
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
