package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The lite pull consumer: assigned or subscribed queues, seeking, committing. */
final class LitePulling {
    private LitePulling() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("lite_assign", LitePulling::assign);
        scenarios.put("lite_seek", LitePulling::seek);
        scenarios.put("lite_subscribe", LitePulling::subscribe);
        scenarios.put("lite_start", LitePulling::start);
        scenarios.put("lite_auto_commit", LitePulling::autoCommit);
    }

    private static List<MessageExt> poll(DefaultLitePullConsumer consumer, int count) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        Wait.holds(20, () -> {
            found.addAll(consumer.poll(100));
            return found.size() >= count;
        });
        return found;
    }

    private static Object assign(Context context) throws Exception {
        String topic = context.createTopic("t", 3);
        context.fill(topic, 0, "a", Context.bodies("m", 5));
        context.fill(topic, 1, "a", Context.bodies("n", 5));
        context.fill(topic, 2, "a", Context.bodies("o", 5));
        // Without a subscription the group is made by a heartbeat some time later: commits before are refused.
        context.createGroup("g");
        DefaultLitePullConsumer consumer = context.newLite("g", "c");
        consumer.setAutoCommit(false);
        consumer.start();
        Map<String, Object> seen = new TreeMap<>();
        seen.put("1 queues", Saw.queues(consumer.fetchMessageQueues(topic)));
        consumer.assign(List.of(context.queue(topic, 0), context.queue(topic, 2)));
        seen.put("2 polled", Saw.messages(poll(consumer, 10)));
        seen.put("3 committed before", committed(context, consumer, topic, 0));
        consumer.commitSync();
        seen.put("4 committed after", settled(context, consumer, topic, 0, 5));
        seen.put("4 committed, never assigned", committed(context, consumer, topic, 1));
        consumer.assign(List.of(context.queue(topic, 1)));
        seen.put("5 polled after assigning anew", Saw.texts(poll(consumer, 5)));
        return seen;
    }

    private static Object committed(Context context, DefaultLitePullConsumer consumer, String topic, int queue) {
        return Saw.result(() -> consumer.committed(context.queue(topic, queue)));
    }

    private static Object settled(Context context, DefaultLitePullConsumer consumer, String topic, int queue,
        long expected) throws Exception {
        MessageQueue source = context.queue(topic, queue);
        Object byAnother = context.settled(context.group("g"), source, expected);
        return Json.map("by itself", committed(context, consumer, topic, queue), "by another", byAnother);
    }

    private static Object seek(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "a", Context.bodies("m", 10));
        // Without a subscription the group is made by a heartbeat some time later: commits before are refused.
        context.createGroup("g");
        DefaultLitePullConsumer consumer = context.newLite("g", "c");
        consumer.setAutoCommit(false);
        consumer.start();
        MessageQueue queue = context.queue(topic, 0);
        consumer.assign(List.of(queue));
        Map<String, Object> seen = new TreeMap<>();
        seen.put("1 all", Saw.texts(poll(consumer, 10)));
        consumer.seek(queue, 7);
        seen.put("2 from 7", Saw.texts(poll(consumer, 3)));
        consumer.seekToBegin(queue);
        seen.put("3 from the beginning", Saw.texts(poll(consumer, 10)));
        consumer.seekToEnd(queue);
        context.fill(topic, 0, "a", "new");
        seen.put("4 from the end", Saw.texts(poll(consumer, 1)));
        seen.put("5 too far", Saw.result(() -> {
            consumer.seek(queue, 100);
            return "allowed";
        }));
        seen.put("5 below zero", Saw.result(() -> {
            consumer.seek(queue, -1);
            return "allowed";
        }));
        List<MessageExt> stored = context.readAll(topic, 0);
        long last = stored.get(10).getStoreTimestamp();
        seen.put("6 offset of the last's time", consumer.offsetForTimestamp(queue, last));
        seen.put("6 offset behind it", consumer.offsetForTimestamp(queue, last + 1000));
        consumer.pause(List.of(queue));
        consumer.seekToBegin(queue);
        seen.put("7 paused", consumer.poll(300).size());
        consumer.resume(List.of(queue));
        seen.put("8 resumed", Saw.texts(poll(consumer, 11)));
        return seen;
    }

    private static Object subscribe(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, queue % 2 == 0 ? "even" : "odd", Context.bodies("q" + queue, 3));
        }
        Map<String, Object> seen = new TreeMap<>();
        DefaultLitePullConsumer first = context.newLite("g", "c1");
        first.subscribe(topic, "even || none");
        first.start();
        seen.put("1 alone, by tag", Saw.messages(poll(first, 6)));
        seen.put("1 assignment", Saw.queues(first.assignment()));
        DefaultLitePullConsumer second = context.newLite("g", "c2");
        second.subscribe(topic, "even || none");
        second.start();
        Wait.until("shared", 30, () -> first.assignment().size() == 2 && second.assignment().size() == 2);
        seen.put("2 shared", Json.map("first", Saw.queues(first.assignment()),
            "second", Saw.queues(second.assignment())));
        first.shutdown();
        Wait.until("all queues", 30, () -> second.assignment().size() == 4);
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, "even", "late-" + queue);
        }
        List<String> late = new ArrayList<>();
        Wait.holds(20, () -> {
            consumerTexts(second, late);
            return late.stream().filter(text -> text.startsWith("late")).distinct().count() == 4;
        });
        late.removeIf(text -> !text.startsWith("late"));
        late.sort(null);
        seen.put("3 second alone", late);
        return seen;
    }

    private static void consumerTexts(DefaultLitePullConsumer consumer, List<String> into) {
        consumer.poll(100).forEach(message -> into.add(Saw.text(message)));
    }

    private static Object start(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "a", Context.bodies("old", 3));
        Map<String, Object> seen = new TreeMap<>();
        int number = 0;
        for (ConsumeFromWhere where : new ConsumeFromWhere[] {
            ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET}) {
            Watch watch = new Watch();
            DefaultLitePullConsumer consumer = context.newLite("g" + ++number, "c" + number, watch);
            consumer.setConsumeFromWhere(where);
            consumer.subscribe(topic, "*");
            consumer.start();
            // With its first pull it has decided where to begin.
            watch.awaitPull();
            String added = "new-" + number;
            context.fill(topic, 0, "a", added);
            List<String> found = new ArrayList<>();
            Wait.holds(20, () -> {
                consumerTexts(consumer, found);
                return found.contains(added);
            });
            seen.put(where.toString(), found);
            consumer.shutdown();
        }
        return seen;
    }

    private static Object autoCommit(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "a", Context.bodies("m", 6));
        DefaultLitePullConsumer consumer = context.newLite("g", "c");
        consumer.setAutoCommitIntervalMillis(1000);
        consumer.setPullBatchSize(3);
        consumer.subscribe(topic, "*");
        consumer.start();
        Map<String, Object> seen = new TreeMap<>();
        seen.put("polled", Saw.texts(poll(consumer, 6)));
        // It commits when it is polled and its interval is over; the broker hears of it at the end.
        Wait.until("its own commit", 20, () -> {
            consumer.poll(50);
            return Long.valueOf(6).equals(committed(context, consumer, topic, 0));
        });
        consumer.shutdown();
        seen.put("committed", context.settled(context.group("g"), context.queue(topic, 0), 6));
        return seen;
    }
}
