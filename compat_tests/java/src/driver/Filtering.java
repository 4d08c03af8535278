package driver;

import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;

/** Subscriptions by tag, and what happens when members of a group do not agree. */
final class Filtering {
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
            Wait.aWhile();
            consumer.shutdown();
            DefaultMQPullConsumer after = context.pull("g" + number, "after" + number);
            seen.put(entry.getKey(), Json.map("consumed", inbox.texts(),
                "committed 0", Saw.result(() -> after.fetchConsumeOffset(context.queue(topic, 0), true)),
                "committed 1", Saw.result(() -> after.fetchConsumeOffset(context.queue(topic, 1), true))));
        }
        return seen;
    }

    /** The member whose heartbeat came last decides for the group: a well-known trap, kept as it is. */
    private static Object disagreement(Context context) throws Exception {
        String left = context.createTopic("left", 2);
        String right = context.createTopic("right", 2);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        DefaultMQPushConsumer first = Pushing.start(context.newPush("g", "c1"), left, one);
        Pushing.awaitHeld(left, 2, first);
        context.fill(left, 0, "a", "before-0");
        one.await(1, 20);
        DefaultMQPushConsumer second = Pushing.start(context.newPush("g", "c2"), right, two);
        // Queues of a topic are shared by all members, those who never subscribed to it included.
        Wait.until("shared", 30, () -> Context.held(first, left).size() == 1 && Context.held(second, right).size() == 1);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("held", Json.map("first", Context.held(first, left), "second", Context.held(second, right)));
        context.fill(right, 1, "a", "right-1");
        seen.put("second gets its own", Wait.holds(15, () -> two.texts().contains("right-1")));
        return seen;
    }
}
