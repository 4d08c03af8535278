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
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const (
	mostChecks = 3
	// How often the servers ask (their setting).
	round = 3 * time.Second
)

func init() {
	scenarios["transaction_ends"] = transactionEnds
	scenarios["transaction_questions"] = transactionQuestions
	scenarios["transaction_given_up"] = transactionGivenUp
	// A restart is asked for by scenarios that are called so (control).
	scenarios["restart_transactions"] = restartTransactions
}

// local does with each message what its body says: "commit", "rollback" or "unknown"; and when it is asked, it
// does not know for so many times.
type local struct {
	lock     sync.Mutex
	asked    map[string]int
	question map[string]object
	unknown  int
	answer   primitive.LocalTransactionState
}

func newLocal() *local {
	return &local{asked: map[string]int{}, question: map[string]object{}, answer: primitive.CommitMessageState}
}

func (l *local) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	switch body := string(message.Body); {
	case strings.HasPrefix(body, "commit"):
		return primitive.CommitMessageState
	case strings.HasPrefix(body, "rollback"):
		return primitive.RollbackMessageState
	}
	return primitive.UnknowState
}

func (l *local) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	l.lock.Lock()
	defer l.lock.Unlock()
	body := string(message.Body)
	l.asked[body]++
	if l.question[body] == nil {
		l.question[body] = sawHalf(message)
	}
	if l.asked[body] > l.unknown {
		return l.answer
	}
	return primitive.UnknowState
}

func (l *local) times(body string) int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.asked[body]
}

// behindOthers is a topic on a broker that has a message already: the first half would lie at 0, as if it had no place.
func behindOthers(s *stage) string {
	first := s.createTopic("first", 1)
	_, err := s.producer("first").SendSync(context.Background(), s.message(first, 0, "", "first"))
	check(err)
	return s.createTopic("t", 1)
}

// sawHalf leaves out the place of a half message: all scenarios share its queue.
func sawHalf(message *primitive.MessageExt) object {
	seen := sawMessage(message)
	delete(seen, "offset")
	seen["prepared"] = message.PreparedTransactionOffset > 0
	return seen
}

func transactionProducer(s *stage, name string, listener primitive.TransactionListener) rocketmq.TransactionProducer {
	made, err := rocketmq.NewTransactionProducer(listener,
		producer.WithNsResolver(s.servers()),
		producer.WithGroupName(s.group(name)),
		producer.WithInstanceName(s.instance(name)),
		producer.WithSendMsgTimeout(20*time.Second),
		producer.WithRetry(0))
	check(err)
	check(made.Start())
	s.atEnd(func() { check(made.Shutdown()) })
	return made
}

func sendHalf(p rocketmq.TransactionProducer, topic, body string) object {
	message := primitive.NewMessage(topic, []byte(body))
	message.WithTag("tag")
	message.WithKeys([]string{"key-" + body})
	result, err := p.SendMessageInTransaction(context.Background(), message)
	if err != nil {
		return object{"error": err.Error()}
	}
	seen := sawResult(result.SendResult, nil).(object)
	delete(seen, "offset")
	seen["state"] = result.State
	return seen
}

func transactionEnds(s *stage) any {
	topic := behindOthers(s)
	listener := newLocal()
	p := transactionProducer(s, "p", listener)
	var sent []object
	for number, how := range []string{"commit", "rollback", "commit", "rollback"} {
		sent = append(sent, sendHalf(p, topic, fmt.Sprintf("%s-%d", how, number)))
	}
	found := s.readAll(topic, 0, 2)
	delivered := make([]object, len(found))
	for at, message := range found {
		delivered[at] = sawMessage(message)
		delivered[at]["prepared"] = message.PreparedTransactionOffset > 0
	}
	return object{"sent": sent, "delivered": delivered, "asked": len(listener.asked)}
}

func transactionQuestions(s *stage) any {
	topic := behindOthers(s)
	commits, rollsBack := newLocal(), newLocal()
	commits.unknown = 1
	rollsBack.answer = primitive.RollbackMessageState
	sendHalf(transactionProducer(s, "p", commits), topic, "unknown-1")
	sendHalf(transactionProducer(s, "q", rollsBack), topic, "unknown-2")
	found := s.readAll(topic, 0, 1)
	await("the other is asked", patience, func() bool { return rollsBack.times("unknown-2") > 0 })
	// The real broker writes down what was ended up to 3 s later: it may ask once more, and deliver again.
	return object{
		"delivered": string(found[0].Body), "asked again": commits.times("unknown-1") > 1,
		"question": commits.question["unknown-1"], "checks": found[0].GetProperty("TRANSACTION_CHECK_TIMES"),
	}
}

func transactionGivenUp(s *stage) any {
	topic := behindOthers(s)
	listener := newLocal()
	listener.unknown = 1 << 30
	sendHalf(transactionProducer(s, "p", listener), topic, "unknown-1")
	await("the last question", 2*patience, func() bool { return listener.times("unknown-1") >= mostChecks })
	time.Sleep(2 * round)
	return object{"questions": listener.times("unknown-1"), "has a topic": s.isListed("TRANS_CHECK_MAX_TIME_TOPIC")}
}

// restartTransactions: what was sent before the servers stop is asked about and delivered afterwards.
func restartTransactions(s *stage) any {
	topic := behindOthers(s)
	p := transactionProducer(s, "p", newLocal())
	expected := map[string]bool{}
	for number := 0; number < 20; number++ {
		body := fmt.Sprintf("%s-%02d", []string{"commit", "rollback", "unknown"}[number%3], number)
		sendHalf(p, topic, body)
		if !strings.HasPrefix(body, "rollback") {
			expected[body] = true
		}
	}
	s.control.restart(s.name)
	var lost []string
	complete := holds(3*patience, func() bool {
		lost = nil
		found := map[string]bool{}
		for _, text := range texts(s.readAll(topic, 0, 1)) {
			found[text] = true
		}
		for body := range expected {
			if !found[body] {
				lost = append(lost, body)
			}
		}
		return len(lost) == 0
	})
	return object{"complete": complete, "lost": lost}
}

func texts(messages []*primitive.MessageExt) []string {
	all := make([]string, len(messages))
	for at, message := range messages {
		all[at] = string(message.Body)
	}
	sort.Strings(all)
	return all
}
