package driver;

import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** Where a group that never consumed begins: first, last, at a time; with 5.x's rule for young queues. */
final class StartOffsets {
    private StartOffsets() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("start_offsets", StartOffsets::all);
        scenarios.put("start_offsets_committed", StartOffsets::committed);
    }

    private static Object all(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        for (int queue = 0; queue < 2; queue++) {
            context.fill(topic, queue, "a", Context.bodies("old", 5));
        }
        // The client gives the time in whole seconds.
        long boundary = (System.currentTimeMillis() / 1000 + 1) * 1000;
        Wait.until("the next second", 5, () -> System.currentTimeMillis() >= boundary + 20);
        for (int queue = 0; queue < 2; queue++) {
            context.fill(topic, queue, "a", Context.bodies("recent", 4));
        }
        Map<String, DefaultMQPushConsumer> consumers = new TreeMap<>();
        Map<String, Inbox> inboxes = new TreeMap<>();
        for (boolean broadcasting : new boolean[] {false, true}) {
            for (ConsumeFromWhere where : new ConsumeFromWhere[] {ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
                ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, ConsumeFromWhere.CONSUME_FROM_TIMESTAMP}) {
                String name = (broadcasting ? "broadcasting " : "clustering ") + where;
                DefaultMQPushConsumer consumer = context.newPush("g" + consumers.size(), "c" + consumers.size());
                if (broadcasting) {
                    Compat.broadcasting(consumer);
                }
                consumer.setConsumeFromWhere(where);
                consumer.setConsumeTimestamp(new SimpleDateFormat("yyyyMMddHHmmss").format(new Date(boundary)));
                inboxes.put(name, new Inbox());
                consumers.put(name, Pushing.start(consumer, topic, inboxes.get(name)));
            }
        }
        Pushing.awaitHeld(topic, 2, consumers.values().toArray(new DefaultMQPushConsumer[0]));
        for (int queue = 0; queue < 2; queue++) {
            context.fill(topic, queue, "a", Context.bodies("new", 3));
        }
        Map<String, Object> seen = new TreeMap<>();
        for (Map.Entry<String, Inbox> entry : inboxes.entrySet()) {
            Wait.until(entry.getKey() + ": six new ones, not " + entry.getValue().byQueue(), 20, () -> entry.getValue().texts().stream()
                .filter(text -> text.startsWith("new")).count() == 6);
        }
        Wait.aWhile();
        inboxes.forEach((name, inbox) -> seen.put(name, inbox.byQueue()));
        return seen;
    }

    /** A group with progress goes on from there, whatever it says about first and last. */
    private static Object committed(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "a", Context.bodies("m", 6));
        Map<String, Object> seen = new TreeMap<>();
        for (long offset : new long[] {0, 4, 6, 20}) {
            String group = "g" + offset;
            context.createGroup(group);
            context.commit(context.group(group), context.queue(topic, 0), offset);
            Inbox inbox = new Inbox();
            DefaultMQPushConsumer consumer = context.newPush(group, "c" + offset);
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
            Pushing.start(consumer, topic, inbox);
            Pushing.awaitHeld(topic, 1, consumer);
            Wait.holds(10, () -> inbox.size() >= 6 - offset);
            Wait.aWhile();
            seen.put("committed " + offset, inbox.byQueue());
        }
        return seen;
    }
}
