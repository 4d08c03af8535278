package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** A topic with queue.type=BatchCQ: batches travel in one record and are unwrapped by the client. */
final class Batching {
    private Batching() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("batch_queue", Batching::queue);
    }

    private static Object queue(Context context) throws Exception {
        String topic = context.topic("t");
        TopicConfig config = new TopicConfig();
        config.setTopicName(topic);
        config.setReadQueueNums(2);
        config.setWriteQueueNums(2);
        config.setPerm(Context.READ_WRITE);
        Compat.withBatchQueues(config);
        context.updateTopic(config);
        Wait.until("route of " + topic, 10, () -> context.route(topic) != null);
        DefaultMQProducer producer = context.producer("p");
        List<Object> sent = new ArrayList<>();
        sent.add(Saw.sent(producer.send(batch(topic, "first", 5), context.queue(topic, 0))));
        sent.add(Saw.sent(producer.send(Context.message(topic, "s", "single"), context.queue(topic, 0))));
        sent.add(Saw.sent(producer.send(batch(topic, "second", 3), context.queue(topic, 0))));
        sent.add(Saw.sent(producer.send(batch(topic, "other", 2), context.queue(topic, 1))));
        context.awaitEnd(topic, 0, 9);
        context.awaitEnd(topic, 1, 2);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("sent", sent);
        seen.put("pulled", Saw.messages(context.readQueues(topic, 0, 1)));
        seen.put("pushed", pushed(context, topic));
        seen.put("from within", fromWithin(context, topic));
        return seen;
    }

    private static Object pushed(Context context, String topic) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        consumer.subscribe(topic, "*");
        consumer.setMessageListener(inbox);
        consumer.start();
        inbox.await(11, 20);
        // Held pulls hear of a batch, too.
        DefaultMQProducer producer = context.producer("late");
        producer.send(batch(topic, "late", 4), context.queue(topic, 1));
        inbox.await(15, 20);
        MessageQueue[] queues = {context.queue(topic, 0), context.queue(topic, 1)};
        String group = consumer.getConsumerGroup();
        Wait.until("committed", 15, () -> Long.valueOf(9).equals(context.committed(group, queues[0]))
            && Long.valueOf(6).equals(context.committed(group, queues[1])));
        consumer.shutdown();
        return Saw.messages(inbox.all());
    }

    /** A reader that begins in the middle of a batch gets all of it. */
    private static Object fromWithin(Context context, String topic) throws Exception {
        DefaultLitePullConsumer consumer = context.newLite("lite", "lite");
        consumer.setAutoCommit(false);
        consumer.start();
        MessageQueue queue = context.queue(topic, 0);
        consumer.assign(List.of(queue));
        consumer.seek(queue, 7);
        List<MessageExt> found = new ArrayList<>();
        Wait.until("messages", 20, () -> {
            found.addAll(consumer.poll(500));
            return found.size() >= 2;
        });
        consumer.shutdown();
        return Saw.texts(found);
    }

    private static List<Message> batch(String topic, String name, int count) {
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Message message = Context.message(topic, "tag" + i, name + "-" + i);
            message.setKeys("k" + i);
            batch.add(message);
        }
        return batch;
    }
}
