// Ordered sends numbers by key through a selector and consumes them in order, in one group whose second member comes
// and goes, and says in one line of JSON what it saw: Ordered.java's twin.
//
// Arguments: NameServer, topic, keys, seconds to send, pause between two rounds of all keys in milliseconds.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// seen is what all members together have consumed, by key the highest number.
type seen struct {
	sync.Mutex
	highest                   map[string]int
	consumed, again, disorder int
	first                     []string
}

func (s *seen) take(key string, number int) {
	s.Lock()
	defer s.Unlock()
	s.consumed++
	before, known := s.highest[key]
	if !known {
		before = -1
	}
	if number <= before {
		s.again++
		return
	}
	if number > before+1 {
		s.disorder++
		if len(s.first) < 5 {
			s.first = append(s.first, fmt.Sprintf("%s:%d->%d", key, before, number))
		}
	}
	s.highest[key] = number
}

// member fails when nobody knows the route, as while the broker is away.
func member(namesrv, topic, name string, all *seen) (rocketmq.PushConsumer, error) {
	made, err := rocketmq.NewPushConsumer(
		consumer.WithGroupName(topic+"_consumers"),
		consumer.WithNameServer([]string{namesrv}),
		consumer.WithInstance(name),
		consumer.WithConsumerOrder(true),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	must(err)
	must(made.Subscribe(topic, consumer.MessageSelector{}, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, one := range messages {
			all.take(one.GetKeys(), number(string(one.Body)))
		}
		return consumer.ConsumeSuccess, nil
	}))
	return made, made.Start()
}

func main() {
	rlog.SetLogLevel("error")
	namesrv, topic, keys := os.Args[1], os.Args[2], number(os.Args[3])
	seconds, pause := number(os.Args[4]), time.Duration(number(os.Args[5]))*time.Millisecond
	made := started(namesrv)
	all := &seen{highest: map[string]int{}}
	_, err := member(namesrv, topic, "one", all)
	must(err)
	var second rocketmq.PushConsumer
	next := make([]int, keys)
	refused := 0
	began := time.Now()
	for time.Since(began) < time.Duration(seconds)*time.Second {
		for key := 0; key < keys; key++ {
			message := primitive.NewMessage(topic, []byte(strconv.Itoa(next[key])))
			message.WithKeys([]string{fmt.Sprintf("key-%d", key)})
			if _, err := made.SendSync(context.Background(), message); err != nil {
				// The same number once more: nothing of the key comes before it.
				refused++
				key--
				time.Sleep(20 * time.Millisecond)
				continue
			}
			next[key]++
		}
		late := int(time.Since(began).Seconds())%40 >= 20
		if late && second == nil {
			if second, err = member(namesrv, topic, fmt.Sprintf("two-%d", next[0]), all); err != nil {
				second = nil
			}
		} else if !late && second != nil {
			must(second.Shutdown())
			second = nil
		}
		time.Sleep(pause)
	}
	sent, missing := 0, 0
	for patience := time.Now().Add(150 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		sent, missing = 0, 0
		all.Lock()
		for key := range next {
			sent += next[key]
			if highest, known := all.highest[fmt.Sprintf("key-%d", key)]; known {
				missing += next[key] - 1 - highest
			} else {
				missing += next[key]
			}
		}
		all.Unlock()
		if missing == 0 || time.Now().After(patience) {
			break
		}
	}
	all.Lock()
	defer all.Unlock()
	text, err := json.Marshal(map[string]any{
		"sent": sent, "consumed": all.consumed, "again": all.again, "disorder": all.disorder,
		"missing": missing, "refused": refused, "first": all.first,
	})
	must(err)
	fmt.Println(string(text))
	os.Exit(0)
}
