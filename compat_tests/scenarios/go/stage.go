package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const (
	brokerName = "broker-a"
	patience   = 40 * time.Second
	readWrite  = 6
)

// setup is what all scenarios of one process share.
type setup struct {
	namesrv, broker, run string
	control              control
}

// stage is one scenario's world: names of its own, and clients that are shut down at its end.
type stage struct {
	*setup
	name    string
	lock    sync.Mutex
	closing []func()
	admins  admin.Admin
	readers map[string]rocketmq.PullConsumer
}

func (s *stage) topic(name string) string {
	return fmt.Sprintf("%s_%s_%s", s.run, s.name, name)
}

func (s *stage) group(name string) string {
	return fmt.Sprintf("g%s_%s_%s", s.run, s.name, name)
}

func (s *stage) queue(topic string, id int) *primitive.MessageQueue {
	return &primitive.MessageQueue{Topic: topic, BrokerName: brokerName, QueueId: id}
}

func (s *stage) atEnd(do func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.closing = append(s.closing, do)
}

func (s *stage) close() {
	for at := len(s.closing) - 1; at >= 0; at-- {
		s.closing[at]()
	}
}

func (s *stage) servers() primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{s.namesrv})
}

// instance keeps every client on a connection of its own.
func (s *stage) instance(name string) string {
	return fmt.Sprintf("%s-%s-%s", s.run, s.name, name)
}

func (s *stage) admin() admin.Admin {
	if s.admins == nil {
		made, err := admin.NewAdmin(admin.WithResolver(s.servers()))
		check(err)
		s.admins = made
	}
	return s.admins
}

// createTopic makes a topic and waits until the NameServer tells of it.
func (s *stage) createTopic(name string, queues int, options ...admin.OptionCreate) string {
	topic := s.topic(name)
	s.createNamed(topic, queues, options...)
	return topic
}

func (s *stage) createNamed(topic string, queues int, options ...admin.OptionCreate) {
	all := []admin.OptionCreate{
		admin.WithTopicCreate(topic),
		admin.WithBrokerAddrCreate(s.broker),
		admin.WithReadQueueNums(queues),
		admin.WithWriteQueueNums(queues),
		admin.WithPerm(readWrite),
	}
	check(s.admin().CreateTopic(context.Background(), append(all, options...)...))
	await("the route of "+topic, patience, func() bool { return s.isListed(topic) })
}

func (s *stage) isListed(topic string) bool {
	topics, err := s.admin().FetchAllTopicList(context.Background())
	if err != nil {
		return false
	}
	for _, known := range topics.TopicList {
		if known == topic {
			return true
		}
	}
	return false
}

func (s *stage) producer(name string, options ...producer.Option) rocketmq.Producer {
	all := []producer.Option{
		producer.WithNsResolver(s.servers()),
		producer.WithGroupName(s.group(name)),
		producer.WithInstanceName(s.instance(name)),
		producer.WithQueueSelector(producer.NewManualQueueSelector()),
		producer.WithSendMsgTimeout(20 * time.Second),
		producer.WithRetry(0),
	}
	made, err := rocketmq.NewProducer(append(all, options...)...)
	check(err)
	check(made.Start())
	s.atEnd(func() { check(made.Shutdown()) })
	return made
}

func (s *stage) consumerOptions(group, name string, options []consumer.Option) []consumer.Option {
	all := []consumer.Option{
		consumer.WithNsResolver(s.servers()),
		consumer.WithGroupName(s.group(group)),
		consumer.WithInstance(s.instance(name)),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}
	return append(all, options...)
}

// push makes a consumer that is not started yet.
func (s *stage) push(group, name string, options ...consumer.Option) rocketmq.PushConsumer {
	made, err := rocketmq.NewPushConsumer(s.consumerOptions(group, name, options)...)
	check(err)
	s.atEnd(func() { made.Shutdown() })
	return made
}

// pull makes a started pull consumer.
func (s *stage) pull(group, name, topic, tags string) rocketmq.PullConsumer {
	made, err := rocketmq.NewPullConsumer(s.consumerOptions(group, name, nil)...)
	check(err)
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: tags}
	check(made.Subscribe(topic, selector))
	check(made.Start())
	s.atEnd(func() { check(made.Shutdown()) })
	return made
}

// readAll reads a queue from its beginning until it has as many messages as expected.
func (s *stage) readAll(topic string, queue, expected int) []*primitive.MessageExt {
	if s.readers == nil {
		s.readers = map[string]rocketmq.PullConsumer{}
	}
	if s.readers[topic] == nil {
		name := fmt.Sprintf("reader%d", len(s.readers))
		s.readers[topic] = s.pull(name, name, topic, "*")
	}
	var found []*primitive.MessageExt
	next := int64(0)
	await(fmt.Sprintf("%d messages in %s/%d", expected, topic, queue), patience, func() bool {
		if len(found) >= expected {
			return true
		}
		// A pull at the end would be held for long.
		got, err := s.readers[topic].PullFrom(context.Background(), s.queue(topic, queue), next, 32)
		if err == nil && got.Status == primitive.PullFound {
			found = append(found, got.GetMessageExts()...)
			next = got.NextBeginOffset
		}
		return len(found) >= expected
	})
	return found
}

// fill sends bodies to one queue.
func (s *stage) fill(p rocketmq.Producer, topic string, queue int, tag string, bodies ...string) {
	for _, body := range bodies {
		_, err := p.SendSync(context.Background(), s.message(topic, queue, tag, body))
		check(err)
	}
}

func (s *stage) message(topic string, queue int, tag, body string) *primitive.Message {
	made := primitive.NewMessage(topic, []byte(body))
	if tag != "" {
		made.WithTag(tag)
	}
	made.Queue = s.queue(topic, queue)
	return made
}

func bodies(prefix string, count int) []string {
	all := make([]string, count)
	for at := range all {
		all[at] = fmt.Sprintf("%s-%03d", prefix, at+1)
	}
	return all
}
