package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const given = "GIVEN "

// This program is a member by itself when its first word says so.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "member" {
		beMember(os.Args[2:])
		os.Exit(0)
	}
}

// orderly starts a consumer of all topics that tells the ledger, or whoever reads its output.
func orderly(s *stage, who string, topics []string, tell func(queue string, offset int64, body string)) func() {
	c := s.push("g", who, consumer.WithConsumerOrder(true), consumer.WithConsumeMessageBatchMaxSize(1),
		consumer.WithPullBatchSize(8))
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}
	for _, topic := range topics {
		check(c.Subscribe(topic, selector,
			func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				for _, one := range messages {
					tell(fmt.Sprintf("%s/%d", one.Topic, one.Queue.QueueId), one.QueueOffset, string(one.Body))
				}
				return consumer.ConsumeSuccess, nil
			}))
	}
	check(c.Start())
	return func() { check(c.Shutdown()) }
}

// beMember is a process of its own: namesrv broker run scenario name topic...
func beMember(words []string) {
	rlog.SetLogLevel("error")
	place := &setup{namesrv: words[0], broker: words[1], run: words[2]}
	s := &stage{setup: place, name: words[3]}
	orderly(s, words[4], words[5:], func(queue string, offset int64, body string) {
		fmt.Println(given+queue, offset, body)
	})
	// Until it is killed, or nobody is there any more who would.
	for buffer := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(buffer); err != nil {
			return
		}
	}
}

// startMember runs one; what it is given comes into the ledger. The function kills it, and returns when
// everything that it was given is there.
func startMember(s *stage, who string, topics []string, into *ledger) func() {
	program, err := os.Executable()
	check(err)
	words := append([]string{"member", s.namesrv, s.broker, s.run, s.name, who}, topics...)
	child := exec.Command(program, words...)
	child.Env = os.Environ()
	child.Stderr = os.Stderr
	_, err = child.StdinPipe()
	check(err)
	output, err := child.StdoutPipe()
	check(err)
	check(child.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if strings.HasPrefix(lines.Text(), given) && len(words) == 4 {
				offset, err := strconv.ParseInt(words[2], 10, 64)
				check(err)
				into.wasGiven(who, words[1], offset, words[3])
			}
		}
	}()
	kill := func() {
		child.Process.Kill()
		<-read
		child.Wait()
	}
	s.atEnd(kill)
	return kill
}
