package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	golang "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
	"go.uber.org/zap"
)

const (
	updateTopic = 17
	updateGroup = 200
	// How long what was received stays with its receiver: long enough for all that a scenario does with it, and
	// the shortest time that the proxy takes.
	long  = 60 * time.Second
	short = 10 * time.Second
	// Of every request; a receiver waits for some more.
	requestTime = 10 * time.Second
	waitTime    = 3 * time.Second
)

var code = regexp.MustCompile(`CODE: (\w+)`)

func init() {
	connect := golang.NewRpcClient
	// It has no option for this: the client gives a connection 5 s, and logs every call to a file of all processes.
	golang.NewRpcClient = func(target string, options ...golang.RpcClientOption) (golang.RpcClient, error) {
		own := golang.WithRpcClientConnOption(golang.WithDialTimeout(patience), golang.WithZapLogger(zap.NewNop()))
		return connect(target, append(options, own)...)
	}
}

// typed makes a topic for one type of messages: the official 4.x client knows no attributes.
func (s *stage) typed(name, kind string, queues int) string {
	topic := s.topic(name)
	s.told(updateTopic, map[string]string{
		"topic": topic, "defaultTopic": "TBW102", "perm": strconv.Itoa(readWrite), "order": "false",
		"readQueueNums": strconv.Itoa(queues), "writeQueueNums": strconv.Itoa(queues),
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "attributes": "+message.type=" + kind,
	}, nil)
	await("the route of "+topic, patience, func() bool { return s.isListed(topic) })
	return topic
}

// consumers makes a group with settings of its own.
func (s *stage) consumers(name string, settings object) {
	body, err := json.Marshal(merged(object{"groupName": s.group(name)}, settings))
	check(err)
	s.told(updateGroup, nil, body)
}

func merged(tables ...object) object {
	all := object{}
	for _, table := range tables {
		for key, value := range table {
			all[key] = value
		}
	}
	return all
}

func (s *stage) told(request int, fields map[string]string, body []byte) {
	got, err := ask(s.broker, request, fields, body)
	check(err)
	if got.Code != 0 {
		panic(fmt.Sprintf("request %d: %d %s", request, got.Code, got.Remark))
	}
}

func (s *stage) atProxy(group string) *golang.Config {
	return &golang.Config{
		Endpoint:      os.Getenv("PROXY_GRPC"),
		ConsumerGroup: group,
		Credentials:   &credentials.SessionCredentials{},
	}
}

// patient is a client whose requests may take their time.
func patient(config *golang.Config, options ...golang.ClientOption) (golang.Client, error) {
	return golang.NewClient(config, append(options, golang.WithQueryRouteTimeout(requestTime))...)
}

func (s *stage) sender(topics ...string) golang.Producer {
	return s.transactional(nil, topics...)
}

func (s *stage) transactional(checker *golang.TransactionChecker, topics ...string) golang.Producer {
	made, err := golang.NewProducer(s.atProxy(""), golang.WithTopics(topics...), golang.WithClientFunc(patient),
		golang.WithTransactionChecker(checker))
	check(err)
	check(made.Start())
	s.atEnd(func() { check(made.GracefulStop()) })
	return made
}

type filters = map[string]*golang.FilterExpression

func (s *stage) receiver(group string, subscriptions filters) golang.SimpleConsumer {
	made, err := golang.NewSimpleConsumer(s.atProxy(s.group(group)), golang.WithAwaitDuration(waitTime),
		golang.WithSubscriptionExpressions(subscriptions), golang.WithClientFuncForSimpleConsumer(patient))
	check(err)
	check(made.Start())
	s.atEnd(func() { check(made.GracefulStop()) })
	return made
}

// received waits for so many messages, and hides them for a time.
func received(c golang.SimpleConsumer, count int, hidden time.Duration) []*golang.MessageView {
	var all []*golang.MessageView
	await(fmt.Sprintf("%d messages are received", count), 2*patience, func() bool {
		// Without a message it is an error.
		some, _ := c.Receive(context.Background(), 16, hidden)
		all = append(all, some...)
		return len(all) >= count
	})
	return all
}

func acknowledge(c golang.SimpleConsumer, messages ...*golang.MessageView) {
	for _, message := range messages {
		check(c.Ack(context.Background(), message))
	}
}

func plain(topic string, body string) *golang.Message {
	return &golang.Message{Topic: topic, Body: []byte(body)}
}

func send(p golang.Producer, message *golang.Message) *golang.SendReceipt {
	receipts, err := p.Send(context.Background(), message)
	check(err)
	return receipts[0]
}

// sawView is what an application sees of a message, but for times and ids.
func sawView(s *stage, message *golang.MessageView) object {
	return object{
		"body":       payload(message.GetBody()),
		"topic":      strings.TrimPrefix(message.GetTopic(), s.topic("")),
		"tag":        optional(message.GetTag()),
		"keys":       message.GetKeys(),
		"group":      optional(message.GetMessageGroup()),
		"properties": message.GetProperties(),
		"attempt":    message.GetDeliveryAttempt(),
		"offset":     message.GetOffset(),
		"id":         len(message.GetMessageId()),
		"born":       message.GetBornTimestamp() != nil,
		"from":       *message.GetBornHost() != "",
		"due":        message.GetDeliveryTimestamp() != nil,
	}
}

func optional(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}

func bodiesOf(messages []*golang.MessageView) []string {
	all := []string{}
	for _, message := range messages {
		all = append(all, string(message.GetBody()))
	}
	return all
}

func sorted(texts []string) []string {
	sort.Strings(texts)
	return texts
}

// refusal is a status' name, or what the client itself says; nil without an error.
func refusal(err error) any {
	if err == nil {
		return nil
	}
	if found := code.FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return err.Error()
}
