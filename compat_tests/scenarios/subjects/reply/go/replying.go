package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const (
	correlation = "CORRELATION_ID"
	replyTo     = "REPLY_TO_CLIENT"
	replyTopic  = "DefaultCluster_REPLY_TOPIC"
)

func init() {
	scenarios["reply_sync"] = replySync
	scenarios["reply_async"] = replyAsync
	scenarios["reply_timeout"] = replyTimeout
	scenarios["reply_without_body"] = replyWithoutBody
	scenarios["reply_requester_gone"] = replyRequesterGone
}

// replier answers each request once: a push consumer with a producer of its own.
type replier struct {
	producer rocketmq.Producer
	lock     sync.Mutex
	asked    []*primitive.MessageExt
	told     []any
}

func startReplier(s *stage, topic string, answer func(*replier, *primitive.MessageExt) any) *replier {
	r := &replier{producer: s.producer("replier", producer.WithQueueSelector(producer.NewRoundRobinQueueSelector()))}
	c := s.push(withRetryTopic(s, "repliers"), "repliers", consumer.WithConsumeMessageBatchMaxSize(1))
	listenWith(c, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, request := range messages {
			r.lock.Lock()
			r.asked = append(r.asked, request)
			r.lock.Unlock()
			told := answer(r, request)
			r.lock.Lock()
			r.told = append(r.told, told)
			r.lock.Unlock()
		}
		return consumer.ConsumeSuccess, nil
	})
	return r
}

// reply is the answer to a request. The client makes it without its body.
func reply(request *primitive.MessageExt, body string) *primitive.Message {
	made, err := consumer.CreateReplyMessage(request, nil)
	check(err)
	made.Body = []byte(body)
	return made
}

// send tells what the replier is told. All share the reply topic: the offset there depends on the others.
func (r *replier) send(message *primitive.Message) any {
	told := sawResult(r.producer.SendSync(context.Background(), message))
	delete(told.(object), "offset")
	return told
}

// sendUntilTaken sends again while the requester has not told the broker who it is: its first request comes before
// its first heartbeat is answered.
func (r *replier) sendUntilTaken(message *primitive.Message) any {
	var told any
	await("the requester takes the reply", patience, func() bool {
		told = r.send(message)
		_, refused := told.(object)["error"]
		return !refused
	})
	return told
}

func (r *replier) count() (asked, told int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.asked), len(r.told)
}

func (r *replier) awaitAsked(count int) {
	await("requests have come", patience, func() bool { asked, _ := r.count(); return asked >= count })
}

func (r *replier) awaitTold(count int) []any {
	await("replies were sent", patience, func() bool { _, told := r.count(); return told >= count })
	r.lock.Lock()
	defer r.lock.Unlock()
	return append([]any(nil), r.told...)
}

// sawReply is what the requester gets; the id that joins both is random.
func sawReply(request, answer *primitive.Message) object {
	properties := answer.GetProperties()
	properties[correlation] = joined(properties[correlation], request.GetProperty(correlation))
	return object{"topic": answer.Topic, "body": payload(answer.Body), "flag": answer.Flag, "properties": properties}
}

func joined(one, other string) string {
	if one == other && one != "" {
		return "the request's"
	}
	return "not the request's"
}

// storedReplies are those to one client, in their order, up to so many different ones.
func storedReplies(s *stage, client string, count int) []object {
	var found []object
	next := int64(0)
	reader := s.pull("replies", "replies", replyTopic, "*")
	await(fmt.Sprintf("%d replies are stored", count), patience, func() bool {
		got, err := reader.PullFrom(context.Background(), s.queue(replyTopic, 0), next, 32)
		if err != nil || got.Status != primitive.PullFound {
			return false
		}
		for _, message := range got.GetMessageExts() {
			if message.GetProperty(replyTo) == client {
				found = append(found, sawStored(message))
			}
		}
		next = got.NextBeginOffset
		return len(bodiesOf(found)) >= count
	})
	return found
}

// sawStored leaves out what is random, and the offset, which depends on the others' replies.
func sawStored(message *primitive.MessageExt) object {
	seen := sawMessage(message)
	delete(seen, "offset")
	properties := seen["properties"].(map[string]string)
	properties[correlation] = joined(properties[correlation], message.GetProperty(correlation))
	delete(properties, "MAX_OFFSET")
	return seen
}

func replySync(s *stage) any {
	topic := s.createTopic("t", 1)
	answering := startReplier(s, topic, func(r *replier, request *primitive.MessageExt) any {
		return r.sendUntilTaken(reply(request, "answer to "+string(request.Body)))
	})
	requester := s.producer("requester")
	replies := []object{}
	client := ""
	for _, body := range bodies("question", 3) {
		request := s.message(topic, 0, "ask", body)
		answer, err := requester.Request(context.Background(), patience, request)
		check(err)
		replies = append(replies, sawReply(request, answer))
		client = request.GetProperty(replyTo)
	}
	return object{"replies": replies, "replier": answering.awaitTold(3), "client": client,
		"stored": bodiesOf(storedReplies(s, client, 3))}
}

// bodiesOf are those of stored replies, each once: a reply that was not taken at first is stored twice.
func bodiesOf(stored []object) []string {
	seen := map[string]bool{}
	for _, one := range stored {
		seen[one["body"].(string)] = true
	}
	return sortedKeys(seen)
}

func replyAsync(s *stage) any {
	topic := s.createTopic("t", 1)
	startReplier(s, topic, func(r *replier, request *primitive.MessageExt) any {
		return r.sendUntilTaken(reply(request, "answer to "+string(request.Body)))
	})
	requester := s.producer("requester")
	var lock sync.Mutex
	texts := map[string]bool{}
	for _, body := range bodies("question", 10) {
		// The client calls back twice.
		check(requester.RequestAsync(context.Background(), patience, func(_ context.Context, answer *primitive.Message, err error) {
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				texts[err.Error()] = true
			} else {
				texts[string(answer.Body)] = true
			}
		}, s.message(topic, 0, "ask", body)))
	}
	await("all are answered", patience, func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(texts) >= 10
	})
	lock.Lock()
	defer lock.Unlock()
	return object{"replies": sortedKeys(texts)}
}

func replyTimeout(s *stage) any {
	topic := s.createTopic("t", 1)
	requester := s.producer("requester")
	_, err := requester.Request(context.Background(), 1500*time.Millisecond, s.message(topic, 0, "ask", "anybody?"))
	stored := []string{}
	for _, message := range s.readAll(topic, 0, 1) {
		stored = append(stored, string(message.Body))
	}
	return object{"asked": sawError(err), "stored": stored}
}

// replyWithoutBody: that is how the client makes it, and no broker takes a message without one.
func replyWithoutBody(s *stage) any {
	topic := s.createTopic("t", 1)
	answering := startReplier(s, topic, func(r *replier, request *primitive.MessageExt) any {
		_, err := r.producer.SendSync(context.Background(), reply(request, ""))
		return object{"refused": err != nil, "then": r.sendUntilTaken(reply(request, "with one"))}
	})
	requester := s.producer("requester")
	request := s.message(topic, 0, "ask", "question")
	answer, err := requester.Request(context.Background(), patience, request)
	check(err)
	return object{"reply": sawReply(request, answer), "replier": answering.awaitTold(1)}
}

func replyRequesterGone(s *stage) any {
	topic := s.createTopic("t", 1)
	gone := make(chan struct{})
	answering := startReplier(s, topic, func(r *replier, request *primitive.MessageExt) any {
		<-gone
		return r.send(reply(request, "to nobody"))
	})
	requester := s.producer("requester")
	request := s.message(topic, 0, "ask", "leaving")
	check(requester.RequestAsync(context.Background(), patience,
		func(context.Context, *primitive.Message, error) {}, request))
	answering.awaitAsked(1)
	check(requester.Shutdown())
	close(gone)
	client := request.GetProperty(replyTo)
	return object{"replier": answering.awaitTold(1), "stored": storedReplies(s, client, 1)}
}
