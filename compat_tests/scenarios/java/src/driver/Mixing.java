package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageQueue;

/** Two brokers under one NameServer, broker-a and broker-b: a topic that lives on both. */
final class Mixing {
    private Mixing() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("mix_two_brokers", Mixing::twoBrokers);
    }

    /** Each broker keeps the progress in its own queues. */
    private static void awaitCommitted(Context context, String topic, long offset) throws Exception {
        Map<String, String> addresses = Compat.brokerAddresses(context.api());
        for (Map.Entry<String, String> broker : addresses.entrySet()) {
            for (int id = 0; id < 3; id++) {
                MessageQueue queue = new MessageQueue(topic, broker.getKey(), id);
                Wait.until("committed " + offset + " of " + queue, 20, () -> offset == Compat.committed(
                    context.api(), broker.getValue(), context.group("g"), queue));
            }
        }
    }

    private static Object twoBrokers(Context context) throws Exception {
        String topic = context.topic("t");
        Map<String, Object> seen = new TreeMap<>();
        Wait.until("two brokers", 40, () -> Compat.brokerAddresses(context.api()).size() == 2);
        Map<String, Object> cluster = Compat.cluster(context.api());
        seen.put("cluster", cluster);
        TopicConfig config = new TopicConfig();
        config.setTopicName(topic);
        config.setReadQueueNums(3);
        config.setWriteQueueNums(3);
        config.setPerm(Context.READ_WRITE);
        for (String address : Compat.brokerAddresses(context.api()).values()) {
            context.api().createTopic(address, "TBW102", config, 15_000);
        }
        Wait.until("a topic on both", 20, () -> {
            Map<String, Object> route = context.route(topic);
            return route != null && ((List<?>) route.get("queues")).size() == 2;
        });
        seen.put("route", context.route(topic));
        DefaultMQProducer producer = context.producer("p");
        seen.put("publish", Saw.queues(producer.fetchPublishMessageQueues(topic)));
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        DefaultMQPushConsumer first = Pushing.start(context.newPush("g", "c1"), topic, one);
        Pushing.awaitHeld(topic, 6, first);
        Map<String, Integer> sent = new TreeMap<>();
        for (int i = 0; i < 24; i++) {
            SendResult result = producer.send(Context.message(topic, "a", "m-" + i));
            sent.merge(Saw.queue(result.getMessageQueue()), 1, Integer::sum);
        }
        one.await(24, 20);
        awaitCommitted(context, topic, 4);
        seen.put("sent round robin", sent);
        seen.put("consumed", one.texts());
        DefaultMQPushConsumer second = Pushing.start(context.newPush("g", "c2"), topic, two);
        Pushing.awaitHeld(topic, 3, first, second);
        seen.put("shared", Json.map("first", Context.held(first, topic), "second", Context.held(second, topic)));
        List<MessageQueue> queues = new ArrayList<>(producer.fetchPublishMessageQueues(topic));
        for (MessageQueue queue : queues.stream().sorted().collect(Collectors.toList())) {
            producer.send(Context.message(topic, "a", "to-" + queue.getBrokerName() + queue.getQueueId()), queue);
        }
        one.await(27, 20);
        two.await(3, 20);
        awaitCommitted(context, topic, 5);
        seen.put("consumed by second", Saw.messages(two.all()));
        first.shutdown();
        Pushing.awaitHeld(topic, 6, second);
        seen.put("second alone", Context.held(second, topic));
        return seen;
    }
}
