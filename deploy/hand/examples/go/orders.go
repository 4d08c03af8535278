package main

import (
	"context"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const (
	topic = "OrdersToCharge"
	group = "charging"
	// Of the levels of RocketMQ's brokers.
	twoHours = 18
	// The pauses are RocketMQ's: 10 s, 30 s, 1 min, 2 min, 3 min.
	moreAttempts = 5
	sendTimeout  = time.Second
)

// State is where an order is.
type State string

const (
	Placed    State = "placed"
	Cancelled State = "cancelled"
	Charging  State = "charging"
	Paid      State = "paid"
	Failed    State = "failed"
)

// Bank takes the money for an order. It fails when it cannot be reached, or refuses.
type Bank func(order string) error

// Orders are placed, can be cancelled for two hours, and are charged then. A bank that is away is asked again, with
// growing pauses; after the last time, the order has failed.
type Orders struct {
	bank     Bank
	lock     sync.Mutex
	states   map[string]State
	producer rocketmq.Producer
	charging rocketmq.PushConsumer
	burying  rocketmq.PushConsumer
}

// Start gives a service that is connected.
func Start(namesrvAddr string, bank Bank) (*Orders, error) {
	o := &Orders{bank: bank, states: map[string]State{}}
	names := primitive.NewPassthroughResolver([]string{namesrvAddr})
	var err error
	if o.producer, err = rocketmq.NewProducer(
		producer.WithNsResolver(names), producer.WithGroupName("placing"), producer.WithInstanceName("placing"),
	); err != nil {
		return nil, err
	}
	if err = o.producer.Start(); err != nil {
		return nil, err
	}
	if o.charging, err = consume(names, group, topic, o.charge); err != nil {
		return nil, err
	}
	o.burying, err = consume(names, "burying", "%DLQ%"+group, o.bury)
	return o, err
}

func consume(names primitive.NsResolver, group, topic string, each func(order string) error) (rocketmq.PushConsumer, error) {
	made, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(names), consumer.WithGroupName(group), consumer.WithInstance(group),
		consumer.WithMaxReconsumeTimes(moreAttempts),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		return nil, err
	}
	err = made.Subscribe(topic, consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, message := range messages {
				if each(string(message.Body)) != nil {
					return consumer.ConsumeRetryLater, nil
				}
			}
			return consumer.ConsumeSuccess, nil
		})
	if err != nil {
		return nil, err
	}
	return made, made.Start()
}

// Place stores an order, which will be charged unless it is cancelled.
func (o *Orders) Place(order string) error {
	o.set(order, Placed)
	if o.send(order) == nil {
		return nil
	}
	// The broker may have it already: then there are two, of which the second finds the order paid.
	return o.send(order)
}

func (o *Orders) send(order string) error {
	message := primitive.NewMessage(topic, []byte(order)).WithKeys([]string{order}).WithDelayTimeLevel(twoHours)
	// The producer's own time-out is three seconds, whatever its options say.
	brief, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	_, err := o.producer.SendSync(brief, message)
	return err
}

// Cancel says whether it was in time.
func (o *Orders) Cancel(order string) bool { return o.replace(order, Placed, Cancelled) }

// State is empty for an order that nobody has placed.
func (o *Orders) State(order string) State {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.states[order]
}

func (o *Orders) set(order string, state State) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.states[order] = state
}

func (o *Orders) replace(order string, before, after State) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.states[order] != before {
		return false
	}
	o.states[order] = after
	return true
}

func (o *Orders) charge(order string) error {
	// Another goroutine may have the same order at this moment.
	if !o.replace(order, Placed, Charging) {
		return nil
	}
	if err := o.bank(order); err != nil {
		o.set(order, Placed)
		return err
	}
	o.set(order, Paid)
	return nil
}

// bury takes what could not be charged, however often it was tried.
func (o *Orders) bury(order string) error {
	o.replace(order, Placed, Failed)
	return nil
}

// Stop commits what is done, and leaves.
func (o *Orders) Stop() {
	o.producer.Shutdown()
	o.charging.Shutdown()
	o.burying.Shutdown()
}
