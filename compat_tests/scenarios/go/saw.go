package main

import (
	"fmt"
	"hash/crc32"
	"sort"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const textLimit = 200

// sawResult is what a sender is told.
func sawResult(result *primitive.SendResult, err error) any {
	if err != nil {
		return sawError(err)
	}
	if result == nil {
		return nil
	}
	return object{
		"status":         result.Status,
		"topic":          result.MessageQueue.Topic,
		"broker":         result.MessageQueue.BrokerName,
		"queue":          result.MessageQueue.QueueId,
		"offset":         result.QueueOffset,
		"msgId":          result.MsgID,
		"offsetMsgId":    result.OffsetMsgID,
		"hasTransaction": result.TransactionID != "",
		"region":         result.RegionID,
		"traceOn":        result.TraceOn,
	}
}

// sawError keeps the type as well: a broker's refusal is one of its own.
func sawError(err error) any {
	return object{"error": fmt.Sprintf("%T", err), "text": err.Error()}
}

// sawMessage is everything an application can read of a message.
func sawMessage(message *primitive.MessageExt) object {
	queue := -1
	if message.Queue != nil {
		queue = message.Queue.QueueId
	}
	return object{
		"topic":          message.Topic,
		"queue":          queue,
		"offset":         message.QueueOffset,
		"body":           payload(message.Body),
		"properties":     message.GetProperties(),
		"flag":           message.Flag,
		"sysFlag":        message.SysFlag,
		"reconsumeTimes": message.ReconsumeTimes,
		"msgId":          message.MsgId,
		"offsetMsgId":    message.OffsetMsgId,
		"bornHost":       message.BornHost,
		"storeHost":      message.StoreHost,
		"bornTimestamp":  message.BornTimestamp,
		"storeTimestamp": message.StoreTimestamp,
		"bodyCrc":        message.BodyCRC,
		"transaction":    message.TransactionId,
		"prepared":       message.PreparedTransactionOffset,
	}
}

func sawMessages(messages []*primitive.MessageExt) []object {
	all := make([]object, len(messages))
	for at, message := range messages {
		all[at] = sawMessage(message)
	}
	return all
}

// payload is a short text as it is, anything else by length and checksum.
func payload(body []byte) any {
	if len(body) <= textLimit {
		return string(body)
	}
	return object{"length": len(body), "crc": crc32.ChecksumIEEE(body)}
}

// arrival is one delivery to a consumer.
type arrival struct {
	who     string
	message *primitive.MessageExt
}

// inbox gathers what consumers get, in order of delivery.
type inbox struct {
	lock sync.Mutex
	all  []arrival
}

func (i *inbox) add(who string, messages ...*primitive.MessageExt) {
	i.lock.Lock()
	defer i.lock.Unlock()
	for _, message := range messages {
		i.all = append(i.all, arrival{who, message})
	}
}

func (i *inbox) arrivals() []arrival {
	i.lock.Lock()
	defer i.lock.Unlock()
	return append([]arrival(nil), i.all...)
}

func (i *inbox) size() int {
	return len(i.arrivals())
}

func (i *inbox) awaitSize(count int) {
	await(fmt.Sprintf("%d messages have arrived", count), 2*patience, func() bool { return i.size() >= count })
}

// texts are the bodies, each once, sorted: deliveries of several queues have no order among them.
func (i *inbox) texts() []string {
	seen := map[string]bool{}
	for _, one := range i.arrivals() {
		seen[string(one.message.Body)] = true
	}
	return sortedKeys(seen)
}

// byOffset sorts messages of several queues: their order among each other is chance.
func byOffset(arrivals []arrival) []*primitive.MessageExt {
	messages := make([]*primitive.MessageExt, len(arrivals))
	for at, one := range arrivals {
		messages[at] = one.message
	}
	sort.SliceStable(messages, func(a, b int) bool {
		left, right := messages[a], messages[b]
		if left.Queue.QueueId != right.Queue.QueueId {
			return left.Queue.QueueId < right.Queue.QueueId
		}
		return left.QueueOffset < right.QueueOffset
	})
	return messages
}

// aWhile is long enough for something unexpected to show.
func aWhile() {
	time.Sleep(1500 * time.Millisecond)
}
