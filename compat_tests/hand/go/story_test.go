package stories

import (
	"context"
	"fmt"
	"sort"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
	"trimq/compat/hand"
)

var stories = map[string]func(*story){}

// TestStories plays them one after the other, on one server.
func TestStories(t *testing.T) {
	rlog.SetLogLevel("fatal")
	server := hand.Start(t, "mappedFileSizeCommitLog=65536", "recallMessageEnable=true")
	names := make([]string, 0, len(stories))
	for name := range stories {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, server.With(t), name)
			stories[name](s)
			fmt.Printf("STORY %s %d ms\n", name, time.Since(s.began).Milliseconds())
		})
	}
}

// story has a topic and a group of its own, and clients that leave at its end.
type story struct {
	*hand.Server
	t            *testing.T
	topic, group string
	got          chan *primitive.MessageExt
	began        time.Time
}

func newStory(t *testing.T, server *hand.Server, name string) *story {
	s := &story{server, t, name, name + "Group", make(chan *primitive.MessageExt, 100), time.Now()}
	t.Cleanup(func() { s.Call("faults/clear", nil, nil) })
	tool := s.tool()
	// A consumer would ask for the route of its retry topic again half a minute later.
	for _, topic := range []string{s.topic, "%RETRY%" + s.group} {
		s.check(tool.CreateTopic(context.Background(), admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(s.BrokerAddr),
			admin.WithReadQueueNums(1), admin.WithWriteQueueNums(1), admin.WithPerm(6)))
	}
	return s
}

func (s *story) tool() admin.Admin {
	made, err := admin.NewAdmin(admin.WithResolver(s.names()))
	s.check(err)
	return made
}

// begin marks where clients are there.
func (s *story) begin() { s.began = time.Now() }

func (s *story) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) names() primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{s.NamesrvAddr})
}

func (s *story) producerOptions() []producer.Option {
	return []producer.Option{
		producer.WithNsResolver(s.names()), producer.WithGroupName(s.topic + "Producer"),
		producer.WithInstanceName(s.topic + "Producer"), producer.WithRetry(0),
		producer.WithCompressMsgBodyOverHowmuch(1 << 20),
	}
}

func (s *story) producer() rocketmq.Producer {
	made, err := rocketmq.NewProducer(s.producerOptions()...)
	s.check(err)
	s.check(made.Start())
	s.t.Cleanup(func() { made.Shutdown() })
	return made
}

type handler func(*primitive.MessageExt) consumer.ConsumeResult

// consume starts a member of the group, whose instance has that name.
func (s *story) consume(name string, do handler, more ...consumer.Option) rocketmq.PushConsumer {
	options := []consumer.Option{
		consumer.WithNsResolver(s.names()), consumer.WithGroupName(s.group), consumer.WithInstance(name),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}
	made, err := rocketmq.NewPushConsumer(append(options, more...)...)
	s.check(err)
	s.check(made.Subscribe(s.topic, consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			result := consumer.ConsumeSuccess
			for _, message := range messages {
				result = do(message)
			}
			return result, nil
		}))
	s.check(made.Start())
	s.t.Cleanup(func() { made.Shutdown() })
	return made
}

// take puts every message into got.
func (s *story) take(message *primitive.MessageExt) consumer.ConsumeResult {
	s.got <- message
	return consumer.ConsumeSuccess
}

func (s *story) next() string {
	s.t.Helper()
	select {
	case message := <-s.got:
		return string(message.Body)
	case <-time.After(8 * time.Second):
		s.t.Fatal("no message came")
		return ""
	}
}

func (s *story) message(body string) *primitive.Message {
	return primitive.NewMessage(s.topic, []byte(body))
}

func (s *story) send(from rocketmq.Producer, message *primitive.Message) {
	s.t.Helper()
	_, err := from.SendSync(context.Background(), message)
	s.check(err)
}

func (s *story) texts() []string {
	found := []string{}
	for _, message := range s.Sent(s.topic) {
		found = append(found, message.Text)
	}
	return found
}

func (s *story) same(found, wanted any) {
	s.t.Helper()
	if fmt.Sprint(found) != fmt.Sprint(wanted) {
		s.t.Fatalf("%v instead of %v", found, wanted)
	}
}
