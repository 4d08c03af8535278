package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;

/** Many topics, many connections. */
final class Many {
    private Many() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("many_topics", Many::topics);
        scenarios.put("many_connections", Many::connections);
    }

    /** The official intervals again: other scenarios shorten them. */
    private static void calm(ClientConfig client) {
        client.setPollNameServerInterval(30_000);
        client.setHeartbeatBrokerInterval(30_000);
    }

    /** 500 topics that do not exist before their first message; one consumer of all. */
    private static Object topics(Context context) throws Exception {
        int count = 500;
        DefaultMQProducer producer = context.newProducer("p");
        producer.setDefaultTopicQueueNums(1);
        calm(producer);
        producer.start();
        List<String> topics = new ArrayList<>();
        int ok = 0;
        for (int i = 0; i < count; i++) {
            String topic = context.topic(String.format("t%03d", i));
            topics.add(topic);
            SendResult sent = producer.send(Context.message(topic, "a", "body-" + i));
            ok += sent.getSendStatus() == SendStatus.SEND_OK && sent.getQueueOffset() == 0 ? 1 : 0;
        }
        for (String topic : topics) {
            Wait.until("route of " + topic, 10, () -> context.route(topic) != null);
        }
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        calm(consumer);
        for (String topic : topics) {
            consumer.subscribe(topic, "*");
        }
        consumer.setMessageListener(inbox);
        consumer.start();
        Wait.holds(60, () -> inbox.size() >= count);
        return Json.map("sent", ok, "consumed", inbox.size(), "distinct",
            inbox.texts().stream().distinct().count(), "a route", context.route(topics.get(123)));
    }

    /** 160 producers and a group of 40 consumers, each with its own connections. */
    private static Object connections(Context context) throws Exception {
        String topic = context.createTopic("t", 40);
        List<Inbox> inboxes = new ArrayList<>();
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            inboxes.add(new Inbox());
            DefaultMQPushConsumer consumer = context.newPush("g", String.format("c%03d", i));
            calm(consumer);
            consumer.setConsumeThreadMin(1);
            consumer.setConsumeThreadMax(1);
            consumers.add(Pushing.start(consumer, topic, inboxes.get(i)));
        }
        List<DefaultMQProducer> producers = new ArrayList<>();
        for (int i = 0; i < 160; i++) {
            DefaultMQProducer producer = context.newProducer(String.format("p%03d", i));
            calm(producer);
            producer.start();
            producers.add(producer);
        }
        for (DefaultMQPushConsumer consumer : consumers) {
            Wait.until("one queue each", 60, () -> Context.held(consumer, topic).size() == 1);
        }
        int ok = 0;
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < producers.size(); i++) {
                SendResult sent = producers.get(i).send(Context.message(topic, "a", round + "-" + i),
                    context.queue(topic, i % 40));
                ok += sent.getSendStatus() == SendStatus.SEND_OK ? 1 : 0;
            }
        }
        // As long as it takes until the next heartbeat, if the one that told of a new queue met another.
        Wait.holds(60, () -> inboxes.stream().mapToInt(Inbox::size).sum() >= 320);
        Map<String, Object> consumed = new TreeMap<>();
        for (int i = 0; i < 40; i++) {
            consumed.put(Context.held(consumers.get(i), topic).toString(), inboxes.get(i).texts());
        }
        int members = context.api().getConsumerIdListByGroup(context.setup.broker, context.group("g"), 15_000).size();
        return Json.map("sent", ok, "members", members, "consumed", consumed);
    }
}
