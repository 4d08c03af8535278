package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"example.com/orders/hand"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// bank is away so often when it is asked to charge an order.
type bank struct {
	lock        sync.Mutex
	away, asked map[string]int
}

func (b *bank) charge(order string) error {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.asked[order]++
	if b.asked[order] <= b.away[order] {
		return errors.New("the bank is away")
	}
	return nil
}

func (b *bank) wasAsked(t *testing.T, order string, times int) {
	t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.asked[order] != times {
		t.Fatalf("the bank was asked %d times about %s instead of %d", b.asked[order], order, times)
	}
}

func TestMain(m *testing.M) {
	rlog.SetLogLevel("error")
	os.Exit(m.Run())
}

// started gives the service as it is in production, on a server of its own.
func started(t *testing.T) (*Orders, *bank, *hand.Server) {
	server := hand.Start(t)
	// As in production, topics are made before the service starts. Otherwise it learns of them after 30 s.
	names := primitive.NewPassthroughResolver([]string{server.NamesrvAddr})
	setup, err := admin.NewAdmin(admin.WithResolver(names))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{topic, "%RETRY%" + group, "%DLQ%" + group} {
		if err := setup.CreateTopic(context.Background(), admin.WithTopicCreate(name),
			admin.WithBrokerAddrCreate(server.BrokerAddr), admin.WithReadQueueNums(1), admin.WithWriteQueueNums(1),
			admin.WithPerm(6)); err != nil {
			t.Fatal(err)
		}
	}
	b := &bank{away: map[string]int{}, asked: map[string]int{}}
	orders, err := Start(server.NamesrvAddr, b.charge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(orders.Stop)
	return orders, b, server
}

func place(t *testing.T, orders *Orders, order string) {
	t.Helper()
	if err := orders.Place(order); err != nil {
		t.Fatal(err)
	}
}

func TestAnOrderIsChargedAfterTwoHours(t *testing.T) {
	orders, _, server := started(t)
	place(t, orders, "7")
	server.Advance("1h59m")
	if len(server.Sent(topic)) > 0 {
		t.Fatal("it is in the topic before its time")
	}
	server.Advance("1m")
	server.Until(func() bool { return orders.State("7") == Paid })
}

func TestACancelledOrderIsNotCharged(t *testing.T) {
	orders, bank, server := started(t)
	place(t, orders, "regretted")
	server.Advance("1h59m")
	if !orders.Cancel("regretted") {
		t.Fatal("it is too late")
	}
	place(t, orders, "kept")
	server.Advance("2h")
	server.Until(func() bool { return orders.State("kept") == Paid })
	bank.wasAsked(t, "regretted", 0)
}

func TestABankThatIsAwayIsAskedAgain(t *testing.T) {
	orders, bank, server := started(t)
	bank.away["7"] = 3
	var placed, paid struct{ Millis int64 }
	server.Call("time/now", nil, &placed)
	place(t, orders, "7")
	server.AdvanceUntil(func() bool { return orders.State("7") == Paid })
	server.Call("time/now", nil, &paid)
	bank.wasAsked(t, "7", 4)
	if paid.Millis-placed.Millis < (2*60*60+100)*1000 {
		t.Fatal("this was before two hours, and then 10 s, 30 s and a minute")
	}
}

func TestAfterTheLastAttemptTheOrderHasFailed(t *testing.T) {
	orders, bank, server := started(t)
	bank.away["7"] = 100
	place(t, orders, "7")
	server.AdvanceUntil(func() bool { return orders.State("7") == Failed })
	bank.wasAsked(t, "7", 6)
}

func TestAnOrderThatWasSentTwiceIsChargedOnce(t *testing.T) {
	orders, bank, server := started(t)
	server.Call("faults/lose_answer", nil, nil)
	place(t, orders, "twice")
	place(t, orders, "last")
	server.Advance("2h")
	server.WaitFor(topic, 3)
	server.Until(func() bool { return orders.State("last") == Paid })
	bank.wasAsked(t, "twice", 1)
}
