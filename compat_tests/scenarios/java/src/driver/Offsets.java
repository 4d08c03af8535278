package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Where a queue begins and ends, what lies at a time, one message by its id, and a group's progress. */
final class Offsets {
    private Offsets() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("offsets_of_queue", Offsets::ofQueue);
        scenarios.put("offsets_of_group", Offsets::ofGroup);
        scenarios.put("offsets_by_time", Offsets::byTime);
        scenarios.put("view_message", Offsets::viewMessage);
    }

    private static Object ofQueue(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        context.fill(topic, 0, "a", Context.bodies("m", 5));
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        Map<String, Object> seen = new TreeMap<>();
        MessageQueue[] queues = {context.queue(topic, 0), context.queue(topic, 1), context.queue(topic, 9),
            context.queue(topic, -1), context.queue(context.topic("none"), 0)};
        for (MessageQueue queue : queues) {
            seen.put(Saw.queue(queue), Json.map(
                "min", Saw.result(() -> consumer.minOffset(queue)),
                "max", Saw.result(() -> consumer.maxOffset(queue)),
                "at 0", Saw.result(() -> consumer.searchOffset(queue, 0)),
                "far in the future", Saw.result(() -> consumer.searchOffset(queue, 9_999_999_999_999L)),
                "earliest is a time", Saw.result(() -> consumer.earliestMsgStoreTime(queue) > 0),
                "earliest if none", Saw.result(() -> Math.min(consumer.earliestMsgStoreTime(queue), 0))));
        }
        seen.put("earliest is the first's", consumer.earliestMsgStoreTime(queues[0])
            == context.readAll(topic, 0).get(0).getStoreTimestamp());
        return seen;
    }

    private static Object byTime(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        for (String body : Context.bodies("m", 4)) {
            context.fill(topic, 0, "a", body);
            Thread.sleep(30);
        }
        // Three more may share a millisecond: the search then finds the first of them.
        context.fill(topic, 0, "a", Context.bodies("n", 3));
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        MessageQueue queue = context.queue(topic, 0);
        List<MessageExt> stored = context.readAll(topic, 0);
        List<Object> seen = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            long time = stored.get(i).getStoreTimestamp();
            seen.add(Json.map(
                "just before", Saw.result(() -> consumer.searchOffset(queue, time - 1)),
                "exactly", Saw.result(() -> consumer.searchOffset(queue, time)),
                "just after", Saw.result(() -> consumer.searchOffset(queue, time + 1))));
        }
        long last = stored.get(6).getStoreTimestamp();
        seen.add(Saw.result(() -> consumer.searchOffset(queue, last + 1)));
        seen.add(Saw.result(() -> consumer.searchOffset(queue, last + 100_000)));
        seen.add(Saw.result(() -> consumer.searchOffset(queue, -1)));
        return seen;
    }

    private static Object ofGroup(Context context) throws Exception {
        String topic = context.createTopic("t", 3);
        context.fill(topic, 0, "a", Context.bodies("m", 10));
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        Map<String, Object> seen = new TreeMap<>();
        MessageQueue full = context.queue(topic, 0);
        MessageQueue empty = context.queue(topic, 1);
        seen.put("1 new group, queue with messages", Saw.result(() -> consumer.fetchConsumeOffset(full, true)));
        seen.put("1 new group, empty queue", Saw.result(() -> consumer.fetchConsumeOffset(empty, true)));
        seen.put("1 new group, unknown queue",
            Saw.result(() -> consumer.fetchConsumeOffset(context.queue(topic, 7), true)));
        seen.put("1 new group, unknown topic",
            Saw.result(() -> consumer.fetchConsumeOffset(context.queue(context.topic("none"), 0), true)));
        // A group that no heartbeat has made yet could not commit.
        context.createGroup("g");
        for (long offset : new long[] {4, 2, 10, 55, 0, -3, 6}) {
            consumer.updateConsumeOffset(full, offset);
            persist(consumer, full);
            String what = "2 after updating to " + offset;
            seen.put(what, Saw.result(() -> {
                // Written one-way: the broker may not have it yet.
                Wait.holds(5, () -> consumer.fetchConsumeOffset(full, true) == offset);
                return consumer.fetchConsumeOffset(full, true);
            }));
        }
        for (long offset : new long[] {3, 0, 99, -1, -7}) {
            seen.put("3 committed " + offset, Saw.result(() -> {
                context.commit(context.group("g"), full, offset);
                return context.committed(context.group("g"), full);
            }));
        }
        seen.put("3 in an unknown queue", Saw.result(() -> {
            context.commit(context.group("g"), context.queue(topic, 7), 5);
            return context.committed(context.group("g"), context.queue(topic, 7));
        }));
        seen.put("3 in an unknown topic", Saw.result(() -> {
            context.commit(context.group("g"), context.queue(context.topic("none"), 0), 5);
            return context.committed(context.group("g"), context.queue(context.topic("none"), 0));
        }));
        seen.put("3 of an unknown group", Saw.result(() -> {
            context.commit(context.group("nobody"), full, 5);
            return context.committed(context.group("nobody"), full);
        }));
        seen.put("3 never committed, queue with messages", context.committed(context.group("new"), full));
        seen.put("3 never committed, empty queue", context.committed(context.group("new"), empty));
        DefaultMQPullConsumer stranger = context.pull("g2", "stranger");
        seen.put("4 another group", Saw.result(() -> stranger.fetchConsumeOffset(full, true)));
        return seen;
    }

    private static void persist(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        consumer.getDefaultMQPullConsumerImpl().getOffsetStore().persist(queue);
    }

    private static Object viewMessage(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        SendResult sent = producer.send(Context.message(topic, "tag", "look at me"));
        context.awaitEnd(topic, 0, 1);
        String id = sent.getOffsetMsgId();
        Map<String, Object> seen = new TreeMap<>();
        seen.put("by offset id", Saw.result(() -> Saw.message(producer.viewMessage(topic, id))));
        seen.put("inside a record", Saw.result(() -> Saw.message(producer.viewMessage(topic, move(id, 4)))));
        seen.put("behind the log", Saw.result(() -> Saw.message(producer.viewMessage(topic, move(id, 1L << 40)))));
        return seen;
    }

    /** An offset message id is address and port, then the position in the log: both as hexadecimal digits. */
    private static String move(String id, long by) {
        return id.substring(0, 16) + String.format("%016X", Long.parseLong(id.substring(16), 16) + by);
    }
}
