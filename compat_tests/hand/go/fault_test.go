package stories

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"trimq/compat/hand"
)

func init() {
	stories["anotherTakesOverFromASlowOne"] = anotherTakesOverFromASlowOne
	stories["sendTimedOutButStored"] = sendTimedOutButStored
	stories["brokerRestartsAmongOrderedMessages"] = brokerRestartsAmongOrderedMessages
	stories["fullDiskThenRoom"] = fullDiskThenRoom
}

func anotherTakesOverFromASlowOne(s *story) {
	taken, ends := make(chan bool), make(chan bool)
	shop := s.producer()
	s.consume("slow", func(*primitive.MessageExt) consumer.ConsumeResult {
		taken <- true
		<-ends
		return consumer.ConsumeRetryLater
	})
	s.send(shop, s.message("order 7"))
	<-taken
	s.consume("zother", s.take)
	s.begin()
	// Its machine is gone: no heartbeat comes any more.
	s.Call("faults/fail", hand.Words{"requests": "heartbeats", "client": "*@slow*", "code": "SYSTEM_BUSY"}, nil)
	s.Call("faults/drop_connections", hand.Words{"client": "*@slow*"}, nil)
	s.same(s.next(), "order 7")
	close(ends)
}

func sendTimedOutButStored(s *story) {
	shop := s.producer()
	s.consume("c", s.take)
	order := s.message("order 7")
	order.WithKeys([]string{"order-7"})
	s.begin()
	s.Call("faults/lose_answer", nil, nil)
	// The client's own time-out is three seconds, whatever its options say.
	brief, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := shop.SendSync(brief, order); err == nil {
		s.t.Fatal("an answer came")
	}
	s.send(shop, order)
	stored := s.WaitFor(s.topic, 2)
	s.same([]string{stored[0].Keys, stored[1].Keys}, []string{"order-7", "order-7"})
	s.same([]string{s.next(), s.next()}, []string{"order 7", "order 7"})
}

// brokerRestartsAmongOrderedMessages starts its consumer late: when a broker is gone, one of the Go client waits for
// the answer to its pull until that times out, half a minute later.
func brokerRestartsAmongOrderedMessages(s *story) {
	shop := s.producer()
	s.begin()
	seen, wanted := []string{}, []string{}
	for i := 0; i < 5; i++ {
		s.send(shop, s.message(fmt.Sprint("step ", i)))
	}
	s.Kill()
	if _, err := shop.SendSync(context.Background(), s.message("step 5")); err == nil {
		s.t.Fatal("nobody is there")
	}
	s.Restart()
	for i := 5; i < 10; i++ {
		s.Until(func() bool {
			_, err := shop.SendSync(context.Background(), s.message(fmt.Sprint("step ", i)))
			return err == nil
		})
	}
	s.consume("c", s.take, consumer.WithConsumerOrder(true))
	for i := 0; i < 10; i++ {
		wanted = append(wanted, fmt.Sprint("step ", i))
		seen = append(seen, s.next())
	}
	s.same(seen, wanted)
}

func fullDiskThenRoom(s *story) {
	shop := s.producer()
	s.consume("c", s.take)
	s.begin()
	s.Call("faults/full_disk", nil, nil)
	if _, err := shop.SendSync(context.Background(), s.message("too much")); err == nil {
		s.t.Fatal("there is no room")
	}
	s.Call("faults/mend_disk", nil, nil)
	s.send(shop, s.message("fits"))
	s.same(s.next(), "fits")
	s.same(s.texts(), []string{"fits"})
}
