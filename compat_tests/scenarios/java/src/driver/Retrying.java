package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages that come again: by the listener's answer or sent back by hand, and at last the dead letters. */
final class Retrying {
    private static final int CONSUMER_SEND_MSG_BACK = 36;
    private static final int SUCCESS = 0;

    private Retrying() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("retry_to_dead_letters", Retrying::toDeadLetters);
        scenarios.put("retry_once", Retrying::once);
        scenarios.put("retry_with_levels", Retrying::withLevels);
        scenarios.put("retry_send_back", Retrying::sendBack);
        scenarios.put("retry_groups", Retrying::groups);
    }

    /** Dead letters may be written only until an operator allows reading. */
    static void makeReadable(Context context, String dead) throws Exception {
        TopicConfig config = new TopicConfig();
        config.setTopicName(dead);
        config.setReadQueueNums(1);
        config.setWriteQueueNums(1);
        config.setPerm(Context.READ_WRITE);
        context.updateTopic(config);
    }

    private static Object toDeadLetters(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "tag", "doomed");
        Inbox inbox = new Inbox(message -> true);
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        consumer.setMaxReconsumeTimes(2);
        Pushing.start(consumer, topic, inbox);
        inbox.await(3, 40);
        String retry = "%RETRY%" + context.group("g");
        String dead = "%DLQ%" + context.group("g");
        Wait.until("dead letters", 20, () -> context.route(dead) != null);
        Map<String, Object> seen = new TreeMap<>();
        Wait.until("a dead letter", 10, () -> context.reader().maxOffset(context.queue(dead, 0)) > 0);
        seen.put("route of retries", context.route(retry));
        seen.put("route of dead letters", context.route(dead));
        seen.put("reading dead letters at once", Saw.result(
            () -> context.reader().pull(context.queue(dead, 0), "*", 0, 32).getPullStatus()));
        makeReadable(context, dead);
        consumer.shutdown();
        seen.put("attempts", attempts(inbox.all()));
        seen.put("in the retry topic", Saw.messages(context.readAll(retry, 0)));
        seen.put("dead letters", Saw.messages(context.readAll(dead, 0)));
        seen.put("committed", context.settled(context.group("g"), context.queue(topic, 0), 1));
        seen.put("committed retries", context.settled(context.group("g"), context.queue(retry, 0), 2));
        return seen;
    }

    private static List<Object> attempts(List<MessageExt> messages) {
        List<Object> seen = new ArrayList<>();
        messages.forEach(message -> seen.add(Saw.message(message)));
        return seen;
    }

    /** Several messages, one of which fails the first time: the others are not held up. */
    private static Object once(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "tag", Context.bodies("m", 6));
        Inbox inbox = new Inbox(message -> Saw.text(message).equals("m-003") && message.getReconsumeTimes() == 0);
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        consumer.subscribe(topic, "tag || other");
        consumer.setMessageListener(inbox);
        consumer.start();
        inbox.await(7, 40);
        Wait.aWhile();
        return Json.map("consumed", inbox.texts(), "last", Saw.message(inbox.all().get(6)));
    }

    /** The listener chooses the delay: a level, or -1 for the dead letters at once. */
    private static Object withLevels(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "tag", "chosen");
        List<MessageExt> seen = new ArrayList<>();
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        MessageListenerConcurrently listener = (List<MessageExt> batch, ConsumeConcurrentlyContext answer) -> {
            synchronized (seen) {
                seen.addAll(batch);
                answer.setDelayLevelWhenNextConsume(seen.size() < 3 ? seen.size() : -1);
            }
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        };
        Pushing.start(consumer, topic, listener);
        String dead = "%DLQ%" + context.group("g");
        Wait.until("dead letters", 40, () -> context.route(dead) != null);
        makeReadable(context, dead);
        Wait.until("a dead letter", 10, () -> context.reader().maxOffset(context.queue(dead, 0)) > 0);
        synchronized (seen) {
            return Json.map("attempts", attempts(seen), "dead letters", Saw.messages(context.readAll(dead, 0)));
        }
    }

    private static Object sendBack(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "tag", Context.bodies("m", 8));
        List<MessageExt> messages = context.readAll(topic, 0);
        Map<String, Object> seen = new TreeMap<>();
        Object[][] changes = {
            {"as it is"},
            {"level 0", "delayLevel", 0},
            {"level 2", "delayLevel", 2},
            {"level -1", "delayLevel", -1},
            {"level 50", "delayLevel", 50},
            {"no such position", "offset", 1L << 40},
            {"no such group", "group", "g" + context.group("nobody")},
            {"no retries left", "maxReconsumeTimes", 0},
        };
        List<Map<String, Object>> results = new ArrayList<>();
        List<String> accepted = new ArrayList<>();
        for (int i = 0; i < changes.length; i++) {
            Object[] fields = new Object[changes[i].length - 1];
            System.arraycopy(changes[i], 1, fields, 0, fields.length);
            Tamper tamper = new Tamper(CONSUMER_SEND_MSG_BACK, fields);
            DefaultMQPullConsumer consumer = context.pull("g" + i, "c" + i, tamper);
            context.createGroup("g" + i);
            MessageExt message = messages.get(i);
            // Looks up the route; without the broker's address the client would send a new message instead.
            consumer.maxOffset(context.queue(topic, 0));
            Object result = Saw.result(() -> {
                consumer.sendMessageBack(message, 1);
                return "sent back";
            });
            // Refused, the client sends a new message to a random queue of a topic whose route it does not know.
            boolean random = changes[i][0].equals("no such position");
            results.add(Json.map("result", random ? null : result, "answers", tamper.answers()));
            seen.put((String) changes[i][0], results.get(i));
            if (tamper.hasAnswer(SUCCESS)) {
                accepted.add(context.group("g" + i));
            }
        }
        // The longest delay among them is three seconds.
        for (String group : accepted) {
            Wait.holds(20, () -> hasArrived(context, group));
        }
        Wait.aWhile();
        for (int i = 0; i < changes.length; i++) {
            String dead = "%DLQ%" + context.group("g" + i);
            if (context.route(dead) != null) {
                makeReadable(context, dead);
            }
            if (results.get(i).get("result") != null) {
                results.get(i).put("retry topic", stored(context, "%RETRY%" + context.group("g" + i)));
            }
            results.get(i).put("dead letters", stored(context, dead));
        }
        return seen;
    }

    /** Whether a message that was sent back is in the group's retry topic or among its dead letters. */
    private static boolean hasArrived(Context context, String group) throws Exception {
        for (String topic : List.of("%RETRY%" + group, "%DLQ%" + group)) {
            if (context.route(topic) != null && context.reader().maxOffset(context.queue(topic, 0)) > 0) {
                return true;
            }
        }
        return false;
    }

    private static Object stored(Context context, String topic) throws Exception {
        return context.route(topic) == null ? null : Saw.messages(context.readAll(topic, 0));
    }

    /** Settings of the group that change what becomes of a message that is sent back. */
    private static Object groups(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "tag", Context.bodies("m", 3));
        List<MessageExt> messages = context.readAll(topic, 0);
        Object[][] settings = {
            {"retryQueueNums", 0},
            {"retryQueueNums", 3},
            {"retryMaxTimes", 0},
        };
        Map<String, Object> seen = new TreeMap<>();
        for (int i = 0; i < settings.length; i++) {
            context.createGroup("g" + i, settings[i]);
            Tamper watch = new Tamper(CONSUMER_SEND_MSG_BACK);
            DefaultMQPullConsumer consumer = context.pull("g" + i, "c" + i, watch);
            MessageExt message = messages.get(i);
            // Looks up the route; without the broker's address the client would send a new message instead.
            consumer.maxOffset(context.queue(topic, 0));
            Object result = Saw.result(() -> {
                consumer.sendMessageBack(message, 1);
                return "sent back";
            });
            String retry = "%RETRY%" + context.group("g" + i);
            String dead = "%DLQ%" + context.group("g" + i);
            // The last of these groups has no retries; the first has no topic for them either.
            String last = i == 2 ? dead : retry;
            Wait.holds(5, () -> context.route(last) != null);
            seen.put(settings[i][0] + " " + settings[i][1], Json.map("result", result, "answers", watch.answers(),
                "route", context.route(retry), "dead", context.route(dead)));
        }
        return seen;
    }
}
