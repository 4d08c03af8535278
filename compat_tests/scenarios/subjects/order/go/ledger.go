package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stuck is how long a queue may wait for a new owner: a lock that nobody renews stands for 60 s, and who was
// refused asks again with its next look at the group, every 20 s.
const stuck = 95 * time.Second

// ledger knows what was sent of each key and which member of a group was given it when. A body is
// "KEY/NUMBER", numbers begin at 0. It says at the end whether order held: nobody is given a key's message
// before the one in front of it, and nobody a queue's message whose forerunner nobody has been given.
type ledger struct {
	lock       sync.Mutex
	sent       map[string]time.Time
	given      map[string]bool
	nextOfKey  map[string]int
	disordered map[string]bool
	queues     map[string]*queueLog
}

// queueLog is one queue's deliveries so far.
type queueLog struct {
	lastOf    map[string]int64
	owner     string
	handOvers []string
	highest   int64
	// The last one that was new: messages that come again are no progress.
	idleSince         time.Time
	skipped, repeated int
	longestWait       time.Duration
}

func newLedger() *ledger {
	return &ledger{sent: map[string]time.Time{}, given: map[string]bool{}, nextOfKey: map[string]int{},
		disordered: map[string]bool{}, queues: map[string]*queueLog{}}
}

// wasSent is told when the send was answered: from now on somebody should be given it.
func (l *ledger) wasSent(body string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.sent[body] = time.Now()
}

// wasGiven is told when a listener of the member has a message.
func (l *ledger) wasGiven(who, queue string, offset int64, body string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.inQueue(queue, who, offset, body)
	if l.given[body] {
		return
	}
	l.given[body] = true
	key, text, _ := strings.Cut(body, "/")
	number, err := strconv.Atoi(text)
	check(err)
	if number != l.nextOfKey[key] {
		l.disordered[key] = true
	}
	if number >= l.nextOfKey[key] {
		l.nextOfKey[key] = number + 1
	}
}

func (l *ledger) inQueue(name, who string, offset int64, body string) {
	queue := l.queues[name]
	if queue == nil {
		queue = &queueLog{lastOf: map[string]int64{}, highest: -1}
		l.queues[name] = queue
	}
	handedOver := queue.owner != who
	if handedOver {
		queue.handOvers = append(queue.handOvers, fmt.Sprintf("%s@%d", who, offset))
		queue.owner = who
	}
	before, had := queue.lastOf[who]
	if !had {
		before = -1
	}
	if offset > before+1 && !(handedOver && offset <= queue.highest+1) {
		queue.skipped++
	}
	queue.lastOf[who] = offset
	if offset <= queue.highest {
		queue.repeated++
		return
	}
	now := time.Now()
	queue.highest = offset
	// What is given before its send is answered has not waited.
	if there, known := l.sent[body]; known {
		if there.Before(queue.idleSince) {
			there = queue.idleSince
		}
		if waited := now.Sub(there); waited > queue.longestWait {
			queue.longestWait = waited
		}
	}
	queue.idleSince = now
}

func (l *ledger) size() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return len(l.given)
}

func (l *ledger) isComplete() bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	for body := range l.sent {
		if !l.given[body] {
			return false
		}
	}
	return true
}

// owns tells whether the member was the last that was given something of each of so many queues.
func (l *ledger) owns(who string, count int) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, queue := range l.queues {
		if queue.owner == who {
			count--
		}
	}
	return count <= 0
}

func (l *ledger) hasQueues(count int) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	return len(l.queues) == count
}

// verdict is what is compared between servers: nothing of it depends on chance.
func (l *ledger) verdict(name string, complete bool) object {
	l.lock.Lock()
	defer l.lock.Unlock()
	missing, skipped, late := 0, 0, []string{}
	for body := range l.sent {
		if !l.given[body] {
			missing++
		}
	}
	for _, id := range sortedKeys(l.queues) {
		queue := l.queues[id]
		skipped += queue.skipped
		if queue.longestWait > stuck {
			late = append(late, id)
		}
		// For people: what depends on chance.
		fmt.Printf("TOLD %s %s: %d messages, %d given again, longest wait %.1f s, owners %s\n", name, id,
			queue.highest+1, queue.repeated, queue.longestWait.Seconds(), strings.Join(queue.handOvers, " "))
	}
	return object{
		"complete":                               complete,
		"never given":                            missing,
		"keys out of order":                      sortedKeys(l.disordered),
		"messages that an owner left out":        skipped,
		"queues stuck for longer than they must": late,
	}
}
