// Member is one process of a run: a producer that sends numbers by key through a selector, or members of orderly
// groups. Member.java's twin, with the same arguments, output and journal.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func send(ending *atomic.Bool, namesrv, topic string, keys int, pause time.Duration, least int) {
	made := started(namesrv)
	next := make([]int, keys)
	for !ending.Load() || next[0] < least {
		for key := 0; key < keys; key++ {
			message := primitive.NewMessage(topic, []byte(strconv.Itoa(next[key])))
			message.WithKeys([]string{fmt.Sprintf("key-%d", key)})
			message.WithTag("usual")
			if key%10 == 0 {
				message.WithTag("rare")
			}
			if _, err := made.SendSync(context.Background(), message); err != nil {
				// The same number once more: nothing of the key comes before it.
				key--
				time.Sleep(20 * time.Millisecond)
				continue
			}
			next[key]++
		}
		time.Sleep(pause)
	}
	text, err := json.Marshal(next)
	must(err)
	fmt.Println(string(text))
}

// isThere: no file is needed, or it is there.
func isThere(file string) bool {
	if file == "" {
		return true
	}
	_, err := os.Stat(file)
	return err == nil
}

// member fails when nobody knows the route, as while the broker is away.
func member(namesrv, topic, instance, words string, journal *os.File) (rocketmq.PushConsumer, error) {
	parts := strings.Split(words, ":")
	group, lifted := parts[0], parts[2]
	made, err := rocketmq.NewPushConsumer(
		consumer.WithGroupName(topic+"_"+group),
		consumer.WithNameServer([]string{namesrv}),
		consumer.WithInstance(instance+group),
		consumer.WithConsumerOrder(true),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	must(err)
	chosen := consumer.MessageSelector{Type: consumer.TAG, Expression: parts[1]}
	must(made.Subscribe(topic, chosen, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, one := range messages {
			began := time.Now()
			for !isThere(lifted) {
				time.Sleep(50 * time.Millisecond)
			}
			// One write: a killed process leaves whole lines only.
			_, err := fmt.Fprintf(journal, "%s %s %s %d %d %d %d %d\n", group, one.GetKeys(), one.Body, one.Queue.QueueId,
				one.QueueOffset, one.StoreTimestamp*1_000_000, began.UnixNano(), time.Now().UnixNano())
			must(err)
		}
		return consumer.ConsumeSuccess, nil
	}))
	return made, made.Start()
}

func take(ending *atomic.Bool, namesrv, topic, file, instance string, groups []string) {
	journal, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(err)
	var all []rocketmq.PushConsumer
	for _, words := range groups {
		made, err := member(namesrv, topic, instance, words, journal)
		for err != nil {
			time.Sleep(time.Second)
			made, err = member(namesrv, topic, instance, words, journal)
		}
		all = append(all, made)
	}
	for !ending.Load() {
		time.Sleep(50 * time.Millisecond)
	}
	for _, one := range all {
		must(one.Shutdown())
	}
}

func main() {
	rlog.SetLogLevel("error")
	var ending atomic.Bool
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		must(err)
		ending.Store(true)
	}()
	words := os.Args[1:]
	if words[0] == "send" {
		send(&ending, words[1], words[2], number(words[3]), time.Duration(number(words[4]))*time.Millisecond, number(words[5]))
		return
	}
	take(&ending, words[1], words[2], words[3], words[4], words[5:])
}
