package main

import (
	"bytes"
	"context"
	"math/rand"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

func init() {
	scenarios["send_sync"] = sendSync
	scenarios["send_async"] = sendAsync
	scenarios["send_oneway"] = sendOneWay
	scenarios["send_batch"] = sendBatch
	scenarios["send_hash"] = sendHash
	scenarios["send_round_robin"] = sendRoundRobin
	scenarios["send_delayed"] = sendDelayed
	scenarios["send_compressed"] = sendCompressed
	scenarios["send_big"] = sendBig
	scenarios["send_vip"] = sendVip
	scenarios["send_autocreate"] = sendAutocreate
	scenarios["send_errors"] = sendErrors
	scenarios["send_errors_client"] = sendErrorsClient
	scenarios["admin_topics"] = adminTopics
}

func sendSync(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	seen := []any{}
	send := func(message *primitive.Message) {
		seen = append(seen, sawResult(p.SendSync(context.Background(), message)))
	}
	send(s.message(topic, 0, "", "plain"))
	keyed := s.message(topic, 0, "TagA", "tag and keys")
	keyed.WithKeys([]string{"k1", "k2"})
	send(keyed)
	own := s.message(topic, 1, "TagB", "Grüße 你好 😀")
	own.WithProperty("user", "value")
	own.WithProperty("größe", "große Ü")
	own.Flag = 7
	send(own)
	sharded := s.message(topic, 1, "", "sharding key")
	sharded.WithShardingKey("shard")
	send(sharded)
	return object{
		"results": seen,
		"stored":  [][]object{sawMessages(s.readAll(topic, 0, 2)), sawMessages(s.readAll(topic, 1, 2))},
	}
}

func sendAsync(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	const count = 10
	var waiting sync.WaitGroup
	var lock sync.Mutex
	results := map[string]object{}
	waiting.Add(count)
	for _, body := range bodies("m", count) {
		body := body
		err := p.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
			lock.Lock()
			defer lock.Unlock()
			// Which message gets which offset is chance: the client sends from goroutines.
			seen := sawResult(result, err).(object)
			delete(seen, "offset")
			results[body] = seen
			waiting.Done()
		}, s.message(topic, 0, "TagA", body))
		check(err)
	}
	waiting.Wait()
	stored := map[string]bool{}
	for _, message := range s.readAll(topic, 0, count) {
		stored[string(message.Body)] = true
	}
	return object{"results": results, "stored": sortedKeys(stored)}
}

func sendOneWay(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	check(p.SendOneWay(context.Background(), s.message(topic, 0, "TagA", "one way")))
	return object{"stored": sawMessages(s.readAll(topic, 0, 1))}
}

func sendBatch(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p")
	batch := []*primitive.Message{}
	for _, body := range bodies("m", 5) {
		message := s.message(topic, 0, "TagA", body)
		message.WithKeys([]string{"key-" + body})
		batch = append(batch, message)
	}
	result := sawResult(p.SendSync(context.Background(), batch...))
	again := sawResult(p.SendSync(context.Background(), s.message(topic, 0, "", "after")))
	return object{"result": result, "after": again, "stored": sawMessages(s.readAll(topic, 0, 6))}
}

func sendHash(s *stage) any {
	topic := s.createTopic("t", 4)
	p := s.producer("p", producer.WithQueueSelector(producer.NewHashQueueSelector()))
	seen := object{}
	for _, key := range bodies("shard", 8) {
		message := primitive.NewMessage(topic, []byte(key))
		message.WithShardingKey(key)
		seen[key] = sawResult(p.SendSync(context.Background(), message))
	}
	return seen
}

func sendRoundRobin(s *stage) any {
	topic := s.createTopic("t", 4)
	p := s.producer("p", producer.WithQueueSelector(producer.NewRoundRobinQueueSelector()))
	used := make([]int, 4)
	for _, body := range bodies("m", 12) {
		result, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte(body)))
		check(err)
		used[result.MessageQueue.QueueId]++
	}
	return object{"messages in each queue": used}
}

func sendDelayed(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	results := object{}
	for queue, level := range []int{1, 3} {
		message := s.message(topic, queue, "TagA", "delayed")
		message.WithDelayTimeLevel(level)
		seen := sawResult(p.SendSync(context.Background(), message)).(object)
		delete(seen, "offset") // That of the delay queue, which everybody uses.
		results[[]string{"level 1", "level 3"}[queue]] = seen
	}
	return object{
		"results": results,
		"arrived": [][]object{sawMessages(s.readAll(topic, 0, 1)), sawMessages(s.readAll(topic, 1, 1))},
	}
}

func sendCompressed(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p", producer.WithCompressMsgBodyOverHowmuch(100))
	text := string(bytes.Repeat([]byte("compress me "), 500))
	result := sawResult(p.SendSync(context.Background(), s.message(topic, 0, "TagA", text)))
	return object{"result": result, "stored": sawMessages(s.readAll(topic, 0, 1))}
}

// noise does not get smaller when it is compressed, and is the same in every run.
func noise(size int) []byte {
	made := make([]byte, size)
	rand.New(rand.NewSource(7)).Read(made)
	return made
}

func sendBig(s *stage) any {
	topic := s.createTopic("t", 1)
	// Never compressed, so that the size is the one that the broker judges.
	p := s.producer("p", producer.WithCompressMsgBodyOverHowmuch(1<<30))
	const mebibyte = 1 << 20
	results := object{}
	for name, size := range map[string]int{"1 MiB": mebibyte, "4 MiB and a byte": 4*mebibyte + 1} {
		message := s.message(topic, 0, "", string(noise(size)))
		results[name] = sawResult(p.SendSync(context.Background(), message))
	}
	results["4 MiB"] = sawResult(p.SendSync(context.Background(), s.message(topic, 0, "", string(noise(4*mebibyte)))))
	return object{"results": results, "stored": sawMessages(s.readAll(topic, 0, 2))}
}

func sendVip(s *stage) any {
	topic := s.createTopic("t", 1)
	p := s.producer("p", producer.WithVIPChannel(true))
	return sawResult(p.SendSync(context.Background(), s.message(topic, 0, "TagA", "over the fast port")))
}

func sendAutocreate(s *stage) any {
	seen := object{}
	for name, queues := range map[string]int{"default": 4, "two": 2, "twenty": 20} {
		p := s.producer("p"+name, producer.WithDefaultTopicQueueNums(queues),
			producer.WithQueueSelector(producer.NewRoundRobinQueueSelector()))
		topic := s.topic(name)
		result := sawResult(p.SendSync(context.Background(), primitive.NewMessage(topic, []byte("first")))).(object)
		await("the route of "+topic, patience, func() bool { return s.isListed(topic) })
		queuesNow, err := s.admin().FetchPublishMessageQueues(context.Background(), topic)
		check(err)
		delete(result, "queue") // Chosen by the client.
		seen[name] = object{"result": result, "queues": len(queuesNow)}
	}
	return seen
}

func sendErrors(s *stage) any {
	topic := s.createTopic("t", 2)
	p := s.producer("p")
	strict := s.producer("strict", producer.WithCreateTopicKey("NoSuchTemplate"))
	send := func(message *primitive.Message) any {
		return sawResult(p.SendSync(context.Background(), message))
	}
	long := s.message(topic, 0, "", "long properties")
	long.WithProperty("k", string(bytes.Repeat([]byte("v"), 40000)))
	seen := object{
		"queue out of range":  send(s.message(topic, 99, "", "x")),
		"queue negative":      nil,
		"properties too long": send(long),
		"illegal topic":       send(s.message("illegal.topic", 0, "", "x")),
		"system topic":        send(s.message("SCHEDULE_TOPIC_XXXX", 0, "", "x")),
		"topic too long":      send(s.message(s.topic(string(bytes.Repeat([]byte("t"), 128))), 0, "", "x")),
		"topic does not exist": sawResult(strict.SendSync(context.Background(),
			primitive.NewMessage(s.topic("nobody"), []byte("x")))),
		"batch to a retry topic": sawResult(p.SendSync(context.Background(),
			s.message("%RETRY%"+s.group("g"), 0, "", "1"), s.message("%RETRY%"+s.group("g"), 0, "", "2"))),
	}
	delete(seen, "queue negative")
	for name, perm := range map[string]int{"read only": 4, "no permission": 0} {
		closed := s.topic("closed" + name[:2])
		s.createNamed(closed, 1, admin.WithPerm(perm))
		seen[name] = send(s.message(closed, 0, "", "x"))
	}
	return seen
}

// sendErrorsClient are refusals that never reach the server; they must not depend on it.
func sendErrorsClient(s *stage) any {
	p := s.producer("p")
	send := func(messages ...*primitive.Message) any {
		return sawResult(p.SendSync(context.Background(), messages...))
	}
	return object{
		"no message":  send(),
		"empty topic": send(s.message("", 0, "", "x")),
		"two topics":  send(s.message(s.topic("a"), 0, "", "x"), s.message(s.topic("b"), 0, "", "x")),
	}
}

func adminTopics(s *stage) any {
	seen := object{}
	topic := s.createTopic("t", 3)
	queues, err := s.admin().FetchPublishMessageQueues(context.Background(), topic)
	check(err)
	ids := []int{}
	for _, queue := range queues {
		ids = append(ids, queue.QueueId)
	}
	seen["queues"] = ids
	seen["listed"] = s.isListed(topic)
	for name, illegal := range map[string]string{"illegal": "illegal.topic", "system": "TBW102", "empty": ""} {
		err := s.admin().CreateTopic(context.Background(), admin.WithTopicCreate(illegal),
			admin.WithBrokerAddrCreate(s.broker))
		// The client does not look at the code of the reply.
		seen["create "+name] = err == nil
	}
	check(s.admin().DeleteTopic(context.Background(), admin.WithTopicDelete(topic),
		admin.WithBrokerAddrDelete(s.broker)))
	seen["listed after deletion"] = !holds(patience, func() bool { return !s.isListed(topic) })
	groups, err := s.admin().GetAllSubscriptionGroup(context.Background(), s.broker, patience)
	check(err)
	seen["a group of the system"] = groups.SubscriptionGroupTable["SELF_TEST_C_GROUP"]
	return seen
}
