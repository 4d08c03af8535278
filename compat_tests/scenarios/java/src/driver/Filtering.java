package driver;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.message.MessageQueue;

/** Subscriptions by tag, and what happens when members of a group do not agree. */
final class Filtering {
    /** Milliseconds: after three seconds a client tries a refused pull again, and would get what it should not. */
    private static final long UNTIL_PULLED_AGAIN = 4000;

    private Filtering() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("filter_tags", Filtering::tags);
        scenarios.put("filter_disagreement", Filtering::disagreement);
    }

    private static Object tags(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        String[] tags = {"A", "B", "C", "Aa", "BB", null, "A"};
        for (int i = 0; i < tags.length; i++) {
            context.fill(topic, i % 2, tags[i], tags[i] + "-" + i);
        }
        Map<String, Object> seen = new TreeMap<>();
        Map<String, Integer> expected = new TreeMap<>(Map.of("*", 7, "A||B", 3, "Aa", 1, "none", 0, "C || none", 1));
        int number = 0;
        for (Map.Entry<String, Integer> entry : expected.entrySet()) {
            Inbox inbox = new Inbox();
            DefaultMQPushConsumer consumer = context.newPush("g" + ++number, "c" + number);
            consumer.subscribe(topic, entry.getKey());
            consumer.setMessageListener(inbox);
            consumer.start();
            Pushing.awaitHeld(topic, 2, consumer);
            Wait.holds(10, () -> inbox.size() >= entry.getValue());
            // Skipped messages move the progress too.
            Wait.holds(10, () -> context.committed(consumer.getConsumerGroup(), context.queue(topic, 0)).equals(4L)
                && context.committed(consumer.getConsumerGroup(), context.queue(topic, 1)).equals(3L));
            Wait.aWhile();
            consumer.shutdown();
            seen.put(entry.getKey(), Json.map("consumed", inbox.texts(),
                "committed 0", context.committed(consumer.getConsumerGroup(), context.queue(topic, 0)),
                "committed 1", context.committed(consumer.getConsumerGroup(), context.queue(topic, 1))));
        }
        return seen;
    }

    /** The member whose heartbeat came last decides for the group: a well-known trap, kept as it is. */
    private static Object disagreement(Context context) throws Exception {
        String left = context.createTopic("left", 1);
        String right = context.createTopic("right", 1);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        Gate firstGate = new Gate();
        Gate secondGate = new Gate();
        DefaultMQPushConsumer first = context.newPush("g", "c1", firstGate);
        DefaultMQPushConsumer second = context.newPush("g", "c2", secondGate);
        first.setHeartbeatBrokerInterval(600_000);
        second.setHeartbeatBrokerInterval(600_000);
        // Everybody takes every queue, so that only the subscriptions decide.
        first.setAllocateMessageQueueStrategy(new Everything());
        second.setAllocateMessageQueueStrategy(new Everything());
        Pushing.start(first, left, one);
        Pushing.awaitHeld(left, 1, first);
        context.fill(left, 0, "a", "left-1");
        Pushing.awaitServed(1, List.of(one), first);
        firstGate.setOpen(false);
        Pushing.start(second, right, two);
        Pushing.awaitHeld(right, 1, second);
        Map<String, Object> seen = new TreeMap<>();
        context.fill(left, 0, "a", "left-2");
        context.fill(right, 0, "a", "right-1");
        Pushing.awaitServed(1, List.of(two), second);
        secondGate.setOpen(false);
        Thread.sleep(UNTIL_PULLED_AGAIN);
        seen.put("1 second decided", Json.map("left", one.texts(), "right", two.texts()));
        beHeard(first, firstGate);
        one.await(2, 20);
        context.fill(right, 0, "a", "right-2");
        Thread.sleep(UNTIL_PULLED_AGAIN);
        seen.put("2 first decided", Json.map("left", one.texts(), "right", two.texts()));
        beHeard(second, secondGate);
        two.await(2, 20);
        seen.put("3 second again", Json.map("left", one.texts(), "right", two.texts()));
        return seen;
    }

    /** One heartbeat of the consumer's, and no other. */
    private static void beHeard(DefaultMQPushConsumer consumer, Gate gate) throws Exception {
        int before = gate.answered();
        gate.setOpen(true);
        Wait.until("a heartbeat", 20, () -> {
            Compat.tellSubscriptions(consumer);
            return gate.answered() > before;
        });
        gate.setOpen(false);
    }

    private static final class Everything implements AllocateMessageQueueStrategy {
        @Override
        public List<MessageQueue> allocate(String group, String client, List<MessageQueue> queues, List<String> ids) {
            return queues;
        }

        @Override
        public String getName() {
            return "EVERYTHING";
        }
    }
}
