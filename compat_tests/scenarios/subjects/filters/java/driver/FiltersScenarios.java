package driver;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** SQL92 with every kind of consumer, on brokers that allow it. */
final class FiltersScenarios {
    private static final String[] COLORS = {"red", "green", "blue", null};
    private static final int COUNT = 24;

    private FiltersScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("filters_push", FiltersScenarios::push);
        scenarios.put("filters_pull", FiltersScenarios::pull);
        scenarios.put("filters_lite", FiltersScenarios::lite);
        scenarios.put("filters_refused", FiltersScenarios::refused);
        scenarios.put("filters_changed", FiltersScenarios::changed);
        scenarios.put("filters_members", FiltersScenarios::members);
        scenarios.put("filters_retry", FiltersScenarios::retry);
        // A restart is asked for by scenarios that are called so (Control).
        scenarios.put("restart_filters", FiltersScenarios::restart);
    }

    /** Messages from {@code first} on, to the topic's two queues in turn: a number, and for most a color. */
    private static void fill(Context context, String topic, int first, int count) throws Exception {
        DefaultMQProducer producer = context.producer("p" + first);
        for (int i = first; i < first + count; i++) {
            Message message = Context.message(topic, i % 3 == 0 ? "Three" : "Other", String.format("m-%03d", i));
            message.putUserProperty("number", Integer.toString(i));
            if (COLORS[i % 4] != null) {
                message.putUserProperty("color", COLORS[i % 4]);
            }
            producer.send(message, context.queue(topic, i % 2));
        }
        for (int queue = 0; queue < 2; queue++) {
            context.awaitEnd(topic, queue, (first + count + 1 - queue) / 2);
        }
    }

    private static DefaultMQPushConsumer start(Context context, String group, String name, String topic, String sql,
        Inbox inbox) throws Exception {
        DefaultMQPushConsumer consumer = context.newPush(group, name);
        consumer.subscribe(topic, MessageSelector.bySql(sql));
        consumer.setMessageListener(inbox);
        consumer.start();
        Pushing.awaitHeld(topic, 2, consumer);
        return consumer;
    }

    /** What is skipped moves the progress too: at the latest when a pull has been held for its whole time. */
    private static Object progress(Context context, DefaultMQPushConsumer consumer, String topic, long each)
        throws Exception {
        String group = consumer.getConsumerGroup();
        for (int queue = 0; queue < 2; queue++) {
            MessageQueue target = context.queue(topic, queue);
            Wait.holds(40, () -> Long.valueOf(each).equals(context.committed(group, target)));
        }
        return List.of(context.committed(group, context.queue(topic, 0)),
            context.committed(group, context.queue(topic, 1)));
    }

    private static Object push(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        fill(context, topic, 0, COUNT);
        Map<String, Integer> expected = new TreeMap<>(Map.of(
            "number > 20", 3, "color = 'red' AND number < 9", 3, "color IS NULL", 6, "TAGS = 'Three'", 8,
            "number BETWEEN 3 AND 5 OR color IN ('blue')", 8, "color NOT CONTAINS 'e'", 0, "number > color", 0,
            "NOT color = 'red' or color is null", 18, "nobody = 1", 0, "number = 7 and so on", 1));
        Map<String, Object> seen = new TreeMap<>();
        int at = 0;
        for (Map.Entry<String, Integer> entry : expected.entrySet()) {
            Inbox inbox = new Inbox();
            String name = "c" + ++at;
            DefaultMQPushConsumer consumer = start(context, "g" + at, name, topic, entry.getKey(), inbox);
            Wait.holds(10, () -> inbox.size() >= entry.getValue());
            Wait.aWhile();
            consumer.shutdown();
            seen.put(entry.getKey(), inbox.texts());
        }
        return seen;
    }

    private static Object pull(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        fill(context, topic, 0, COUNT);
        DefaultMQPullConsumer consumer = context.newPull("g", "c");
        // It has to know the broker's version, which heartbeats tell: they go to the brokers of topics.
        consumer.setRegisterTopics(Set.of(topic));
        consumer.start();
        MessageQueue queue = context.queue(topic, 0);
        Wait.until("the broker's version is known", 40, () -> isKnown(consumer, queue));
        Map<String, Object> seen = new TreeMap<>();
        for (String sql : List.of("number > 15", "number = 100", "color = 'red'", "TRUE", "NULL", "color",
            "nobody = nothing", "nobody <> nothing", "color <> nothing")) {
            MessageSelector selector = MessageSelector.bySql(sql);
            seen.put(sql, Saw.result(() -> Saw.pulled(consumer.pull(queue, selector, 0, 32))));
            seen.put(sql + ", two", Saw.result(() -> Saw.pulled(consumer.pull(queue, selector, 3, 2))));
        }
        return seen;
    }

    private static boolean isKnown(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        try {
            consumer.pull(queue, MessageSelector.bySql("TRUE"), 0, 1);
            return true;
        } catch (MQClientException refusal) {
            if (refusal.getMessage().contains("does not upgrade")) {
                return false;
            }
            throw refusal;
        }
    }

    private static Object lite(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        fill(context, topic, 0, COUNT);
        DefaultLitePullConsumer consumer = context.newLite("g", "c");
        consumer.subscribe(topic, MessageSelector.bySql("number >= 12 AND color <> 'blue'"));
        consumer.start();
        Map<String, Boolean> seen = new TreeMap<>();
        Wait.until("four messages", 20, () -> {
            for (MessageExt message : consumer.poll(500)) {
                seen.put(Saw.text(message), true);
            }
            return seen.size() >= 6;
        });
        for (MessageExt message : consumer.poll(1000)) {
            seen.put(Saw.text(message), true);
        }
        return seen.keySet().stream().collect(Collectors.toList());
    }

    /** The broker is asked before a consumer starts. */
    private static Object refused(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Map<String, Object> seen = new TreeMap<>();
        int at = 0;
        for (String sql : List.of("number >", "5", "number = 'x", "number > 'x'", "color IN (5)", "a = NULL", "#")) {
            DefaultMQPushConsumer consumer = context.newPush("g" + at, "c" + at++);
            consumer.subscribe(topic, MessageSelector.bySql(sql));
            consumer.setMessageListener(new Inbox());
            String outcome = "started";
            try {
                consumer.start();
            } catch (MQClientException refusal) {
                // Its text is the broker's parser's.
                outcome = "refused with " + refusal.getResponseCode() + ", says why: "
                    + (refusal.getErrorMessage() != null && refusal.getErrorMessage().length() > 10);
            }
            seen.put(sql, outcome);
        }
        return seen;
    }

    /** A running consumer subscribes anew: what was passed over stays so. */
    private static Object changed(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = start(context, "g", "c", topic, "color = 'red'", inbox);
        Map<String, Object> seen = new TreeMap<>();
        fill(context, topic, 0, 12);
        inbox.await(3, 20);
        seen.put("1 red", Json.map("consumed", inbox.texts(), "committed", progress(context, consumer, topic, 6)));
        consumer.subscribe(topic, MessageSelector.bySql("color = 'green'"));
        Compat.tellSubscriptions(consumer);
        fill(context, topic, 12, 12);
        inbox.await(6, 40);
        seen.put("2 green", Json.map("consumed", inbox.texts(), "committed", progress(context, consumer, topic, 12)));
        consumer.subscribe(topic, "Three");
        Compat.tellSubscriptions(consumer);
        fill(context, topic, 24, 12);
        inbox.await(10, 40);
        seen.put("3 tags", Json.map("consumed", inbox.texts(), "committed", progress(context, consumer, topic, 18)));
        return seen;
    }

    /** Two members with one filter share the queues; the group leaves and comes back to where it was. */
    private static Object members(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        DefaultMQPushConsumer first = start(context, "g", "c1", topic, "number > 3", one);
        DefaultMQPushConsumer second = context.newPush("g", "c2");
        second.subscribe(topic, MessageSelector.bySql("number > 3"));
        second.setMessageListener(two);
        second.start();
        Pushing.awaitHeld(topic, 1, first, second);
        fill(context, topic, 0, 12);
        Pushing.awaitServed(4, List.of(one, two), first, second);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("1 shared", List.of(one.byQueue(), two.byQueue()).stream().map(Object::toString).sorted()
            .collect(Collectors.toList()));
        context.awaitCommitted(first, topic);
        context.awaitCommitted(second, topic);
        progress(context, first, topic, 6);
        first.shutdown();
        second.shutdown();
        fill(context, topic, 12, 12);
        Inbox three = new Inbox();
        DefaultMQPushConsumer third = start(context, "g", "c3", topic, "number > 20", three);
        three.await(3, 20);
        seen.put("2 back", Json.map("consumed", three.texts(), "committed", progress(context, third, topic, 12)));
        return seen;
    }

    /** What is to come again comes, although nobody filters the retry topic. */
    private static Object retry(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        fill(context, topic, 0, 8);
        Inbox inbox = new Inbox(message -> message.getReconsumeTimes() < 1);
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        consumer.subscribe(topic, MessageSelector.bySql("color = 'red'"));
        consumer.setMessageListener(inbox);
        consumer.start();
        inbox.await(4, 60);
        Wait.aWhile();
        return inbox.all().stream().map(message -> Saw.text(message) + " " + message.getReconsumeTimes()).sorted()
            .collect(Collectors.toList());
    }

    /** The broker goes away and comes back under a consumer with a filter. */
    private static Object restart(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = start(context, "g", "c", topic, "color = 'red'", inbox);
        fill(context, topic, 0, 12);
        inbox.await(3, 20);
        // The last one that it got is committed: another start would bring it again.
        Wait.until("committed", 40, () -> context.committed(consumer.getConsumerGroup(), context.queue(topic, 0))
            .toString().matches("[5-9]"));
        context.restartServer();
        fill(context, topic, 12, 12);
        Wait.holds(90, () -> inbox.size() >= 6);
        Object offsets = progress(context, consumer, topic, 12);
        consumer.shutdown();
        return Json.map("consumed", inbox.texts(), "committed", offsets);
    }
}
