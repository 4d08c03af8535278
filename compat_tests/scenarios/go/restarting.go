package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

func init() {
	scenarios["restart_mid_consumption"] = restartMidConsumption
	scenarios["restart_live_clients"] = restartLiveClients
}

// restartMidConsumption lets the server go away after a part of 200 messages: nothing may be lost.
func restartMidConsumption(s *stage) any {
	topic := s.createTopic("t", 4)
	p := s.producer("p")
	for queue := 0; queue < 4; queue++ {
		s.fill(p, topic, queue, "", bodies(fmt.Sprint("q", queue), 50)...)
	}
	got := &inbox{}
	// Behind the 40th the listener waits for the restart, however long a busy machine takes for it.
	back := make(chan struct{})
	var seen atomic.Int32
	c := s.push(withRetryTopic(s, "g"), "c", consumer.WithConsumeGoroutineNums(4),
		consumer.WithPullBatchSize(4), consumer.WithPullThresholdForQueue(8))
	listenWith(c, topic, "*", func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		got.add("c", messages...)
		if seen.Add(int32(len(messages))) > 40 {
			<-back
		}
		return consumer.ConsumeSuccess, nil
	})
	got.awaitSize(40)
	s.control.restart(s.name)
	before := got.size()
	close(back)
	complete := holds(3*patience, func() bool { return len(got.texts()) == 200 })
	aWhile()
	return object{
		"restarted in the middle": before < 200,
		"complete":                complete,
		"lost":                    200 - len(got.texts()),
		"seen twice":              got.size() - len(got.texts()),
	}
}

// restartLiveClients sends and consumes through a restart: a few calls fail, nothing acknowledged is lost.
func restartLiveClients(s *stage) any {
	topic := s.createTopic("t", 4)
	got := &inbox{}
	listen(s.push(withRetryTopic(s, "g"), "c"), topic, "*", "c", got)
	p := s.producer("p", producer.WithSendMsgTimeout(time.Second),
		producer.WithQueueSelector(producer.NewRoundRobinQueueSelector()))
	var lock sync.Mutex
	acknowledged := map[string]bool{}
	count := func() int {
		lock.Lock()
		defer lock.Unlock()
		return len(acknowledged)
	}
	running := make(chan struct{})
	var sending sync.WaitGroup
	sending.Add(1)
	go func() {
		defer sending.Done()
		for number := 0; ; number++ {
			select {
			case <-running:
				return
			default:
			}
			body := fmt.Sprintf("m-%05d", number)
			result, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte(body)))
			if err == nil && result.Status == primitive.SendOK {
				lock.Lock()
				acknowledged[body] = true
				lock.Unlock()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	await("a few are sent", patience, func() bool { return count() > 50 })
	s.control.restart(s.name)
	before := count()
	goesOn := holds(3*patience, func() bool { return count() > before+50 })
	close(running)
	sending.Wait()
	missing := 0
	complete := holds(3*patience, func() bool {
		seen := map[string]bool{}
		for _, text := range got.texts() {
			seen[text] = true
		}
		missing = 0
		for body := range acknowledged {
			if !seen[body] {
				missing++
			}
		}
		return missing == 0
	})
	return object{"sending goes on": goesOn, "all acknowledged were consumed": complete, "missing": missing}
}
