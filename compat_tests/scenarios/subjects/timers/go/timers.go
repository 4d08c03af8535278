package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const (
	deliverAt = "TIMER_DELIVER_MS"
	delaySec  = "TIMER_DELAY_SEC"
	delayMs   = "TIMER_DELAY_MS"
	outMs     = "TIMER_OUT_MS"
	deleteKey = "TIMER_DEL_UNIQKEY"
	uniqueKey = "UNIQ_KEY"
	tooLate   = 604
	// From a send to its time: long enough for a recall in between.
	ahead = 6 * time.Second
)

func init() {
	scenarios["timer_delivered"] = timerDelivered
	scenarios["timer_refused"] = timerRefused
	scenarios["recall_raw"] = recallRaw
	scenarios["recall_by_hand"] = recallByHand
	// A restart is asked for by scenarios that are called so (control).
	scenarios["restart_timers"] = restartTimers
}

func millis(at time.Time) string {
	return strconv.FormatInt(at.UnixMilli(), 10)
}

func (s *stage) timer(topic, body, key, value string) *primitive.Message {
	message := s.message(topic, 0, "a", body)
	message.WithProperty(key, value)
	return message
}

func timerDelivered(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	results := []any{}
	at := time.Now().Add(3 * time.Second).Truncate(time.Second)
	for _, message := range []*primitive.Message{
		s.timer(topic, "1 seconds", delaySec, "2"),
		s.timer(topic, "2 milliseconds", delayMs, "2500"),
		s.timer(topic, "3 whole second", deliverAt, millis(at)),
		s.timer(topic, "4 in the past", deliverAt, "1000"),
	} {
		seen := sawResult(p.SendSync(context.Background(), message)).(object)
		delete(seen, "offset") // That of the wheel's queue, which everybody uses.
		results = append(results, seen)
	}
	messages := s.readAll(topic, 0, 4)
	sort.Slice(messages, func(a, b int) bool { return string(messages[a].Body) < string(messages[b].Body) })
	seen := sawMessages(messages)
	for at, message := range messages {
		delete(seen[at], "offset")
		delete(seen[at], "properties")
		seen[at]["keys"] = sortedKeys(message.GetProperties())
		if out := message.GetProperty(outMs); out != "" {
			slot, err := strconv.ParseInt(out, 10, 64)
			check(err)
			seen[at]["not before its slot is over"] = message.StoreTimestamp >= slot+1000
		}
	}
	return object{"results": results, "messages": seen}
}

func timerRefused(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	send := func(messages ...*primitive.Message) any {
		return sawResult(p.SendSync(context.Background(), messages...))
	}
	late := s.timer(topic, "late", delaySec, "0")
	late.WithProperty(deleteKey, "U")
	return object{
		"too far":              send(s.timer(topic, "x", delaySec, "345600")),
		"no number":            send(s.timer(topic, "x", delayMs, "soon")),
		"delete that is due":   send(late),
		"a wrong one counts":   send(withAnother(s.timer(topic, "x", delaySec, "soon"))),
		"the first one counts": stripped(send(withAnother(s.timer(topic, "x", delaySec, "0")))),
	}
}

func withAnother(message *primitive.Message) *primitive.Message {
	message.WithProperty(deliverAt, "1")
	return message
}

func stripped(seen any) any {
	delete(seen.(object), "offset")
	return seen
}

// sawReply is an answer without what belongs to the wheel's queue; a handle is read.
func sawReply(got reply, err error) object {
	check(err)
	fields := object{}
	for name, value := range got.Fields {
		fields[name] = value
	}
	if text, has := got.Fields["recallHandle"]; has {
		handle, err := base64.URLEncoding.DecodeString(text)
		check(err)
		fields["recallHandle"] = string(handle)
		delete(fields, "queueOffset")
	}
	return object{"code": got.Code, "remark": got.Remark, "fields": fields}
}

func recallRaw(s *stage) any {
	topic := s.createTopic("t", 1)
	at := time.Now().Add(ahead)
	seen := object{}
	handles := map[string]string{}
	for _, name := range []string{"taken back", "stays"} {
		unique := strings.ReplaceAll(name, " ", "-")
		got, err := s.sendRaw(topic, name, 0, map[string]string{uniqueKey: unique, deliverAt: millis(at)})
		seen["sent "+name] = sawReply(got, err)
		handles[name] = got.Fields["recallHandle"]
	}
	seen["recalled"] = sawReply(s.recall(topic, handles["taken back"]))
	seen["once more"] = sawReply(s.recall(topic, handles["taken back"]))
	seen["nonsense"] = sawReply(s.recall(topic, "nonsense"))
	seen["another topic"] = sawReply(s.recall(s.createTopic("other", 1), handles["stays"]))
	got, err := s.sendRaw(topic, "end", 0, map[string]string{deliverAt: millis(at.Add(time.Second))})
	sawReply(got, err)
	seen["messages"] = texts(s.readAll(topic, 0, 2))
	seen["too late"] = sawReply(s.recall(topic, handles["stays"]))
	return seen
}

func recallByHand(s *stage) any {
	topic := s.createTopic("t", 1)
	at := time.Now().Add(ahead).Truncate(time.Second).Add(300 * time.Millisecond)
	send := func(body string, properties map[string]string, when time.Time) object {
		properties[deliverAt] = millis(when)
		return sawReply(s.sendRaw(topic, body, 0, properties))
	}
	seen := object{}
	for _, unique := range []string{"U1", "U2", "U3"} {
		seen["sent "+unique] = send(unique, map[string]string{uniqueKey: unique}, at)
	}
	// In the target's own slot, and in the next one, where it does nothing.
	seen["delete U1"] = send("0", map[string]string{uniqueKey: "D1", deleteKey: "U1"}, at)
	seen["delete U2"] = send("0", map[string]string{uniqueKey: "D2", deleteKey: "U2"}, at.Add(time.Second))
	send("end", map[string]string{uniqueKey: "E"}, at.Add(2*time.Second))
	seen["messages"] = texts(s.readAll(topic, 0, 3))
	return seen
}

func texts(messages []*primitive.MessageExt) []string {
	found := map[string]bool{}
	for _, message := range messages {
		found[string(message.Body)] = true
	}
	return sortedKeys(found)
}

// restartTimers lets the broker go away while timers wait, some of them taken back before, some after.
func restartTimers(s *stage) any {
	topic := s.createTopic("t", 2)
	begin := time.Now()
	const count = 120
	expected := map[string]bool{}
	later := map[string]string{}
	for number := 0; number < count; number++ {
		body := fmt.Sprintf("m-%03d", number)
		at := begin.Add(2*time.Second + time.Duration(number)*500*time.Millisecond)
		got, err := s.sendRaw(topic, body, number%2, map[string]string{uniqueKey: body, deliverAt: millis(at)})
		check(err)
		switch handle := got.Fields["recallHandle"]; {
		case number < 90 || number%3 == 0:
			expected[body] = true
		case number%3 == 1:
			sawReply(s.recall(topic, handle))
		default:
			later[body] = handle
		}
	}
	s.control.restart(s.name)
	missed := map[string]bool{}
	for body, handle := range later {
		await("recalls after the restart", 2*patience, func() bool {
			got, err := s.recall(topic, handle)
			missed[body] = got.Code == tooLate
			return err == nil && (got.Code == 0 || got.Code == tooLate)
		})
	}
	// Behind the last of them nothing may come. Where the original delivers some again, others are behind them.
	time.Sleep(time.Until(begin.Add(2*time.Second + count*500*time.Millisecond)))
	var messages []*primitive.MessageExt
	holds(2*patience, func() bool {
		messages = append(s.readAll(topic, 0, s.end(topic, 0)), s.readAll(topic, 1, s.end(topic, 1))...)
		return len(missing(expected, messages)) == 0
	})
	early := 0
	found := map[string]bool{}
	for _, message := range messages {
		found[string(message.Body)] = true
		at, err := strconv.ParseInt(message.GetProperty(deliverAt), 10, 64)
		check(err)
		if message.StoreTimestamp < at {
			early++
		}
	}
	came := []string{}
	for body := range found {
		// The restart may have taken so long that it was too late for some.
		if !expected[body] && !missed[body] {
			came = append(came, body)
		}
	}
	fmt.Println("TOLD restart_timers: twice =", len(messages)-len(found))
	return object{"lost": missing(expected, messages), "early": early, "recalled, but came": came}
}

// missing are those expected bodies that none of the messages has.
func missing(expected map[string]bool, messages []*primitive.MessageExt) []string {
	left := map[string]bool{}
	for body := range expected {
		left[body] = true
	}
	for _, message := range messages {
		delete(left, string(message.Body))
	}
	return sortedKeys(left)
}
