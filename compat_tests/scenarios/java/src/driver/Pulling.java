package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullCallback;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** PULL_MESSAGE as the pull consumer shows it: every status, limits, held pulls, refusals. */
final class Pulling {
    private static final int PULL_MESSAGE = 11;

    private Pulling() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("pull_statuses", Pulling::statuses);
        scenarios.put("pull_limits", Pulling::limits);
        scenarios.put("pull_tags", Pulling::tags);
        scenarios.put("pull_held", Pulling::held);
        scenarios.put("pull_errors", Pulling::errors);
    }

    private static Object statuses(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        context.fill(topic, 0, "a", Context.bodies("m", 40));
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        Map<String, Object> seen = new TreeMap<>();
        MessageQueue full = context.queue(topic, 0);
        for (long offset : new long[] {-5, -1, 0, 7, 20, 39, 40, 41, 1000}) {
            seen.put(String.format("offset %4d", offset), Saw.result(() -> consumer.pull(full, "*", offset, 32)));
        }
        for (int count : new int[] {0, 1, 32, 33, 100}) {
            seen.put(String.format("at most %3d", count), Saw.result(() -> consumer.pull(full, "*", 0, count)));
        }
        MessageQueue empty = context.queue(topic, 1);
        for (long offset : new long[] {-1, 0, 1, 9}) {
            seen.put("empty queue, offset " + offset, Saw.result(() -> consumer.pull(empty, "*", offset, 32)));
        }
        return seen;
    }

    /** A pull is answered with at most so many messages and bytes. */
    private static Object limits(Context context) throws Exception {
        String topic = context.createTopic("t", 3);
        DefaultMQProducer producer = context.newProducer("p");
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.start();
        int[] sizes = {64 << 10, 300 << 10, 8000};
        for (int queue = 0; queue < sizes.length; queue++) {
            for (int i = 0; i < 40; i++) {
                producer.send(new Message(topic, "a", new byte[sizes[queue]]), context.queue(topic, queue));
                if (sizes[queue] > 8000 && i > 6) {
                    break;
                }
            }
        }
        context.awaitEnd(topic, 2, 40);
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        Map<String, Object> seen = new TreeMap<>();
        for (int queue = 0; queue < sizes.length; queue++) {
            MessageQueue source = context.queue(topic, queue);
            for (int count : new int[] {1, 32, 64}) {
                seen.put(sizes[queue] + " B, at most " + count,
                    Saw.result(() -> consumer.pull(source, "*", 0, count)));
            }
        }
        return seen;
    }

    private static Object tags(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        // "Aa" and "BB" have one hash code: the broker can't tell them apart, the client can.
        String[] tags = {"A", "B", "C", "Aa", "BB", "A", null, "D"};
        for (int i = 0; i < tags.length; i++) {
            context.fill(topic, 0, tags[i], "body-" + i);
        }
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        MessageQueue queue = context.queue(topic, 0);
        Map<String, Object> seen = new TreeMap<>();
        for (String expression : new String[] {"*", "A", "A||B", " A || D ", "Aa", "BB", "none", "||", "", "A||A", "C"}) {
            for (long offset : new long[] {0, 3, 6}) {
                seen.put("'" + expression + "' from " + offset,
                    Saw.result(() -> consumer.pull(queue, expression, offset, 32)));
            }
        }
        seen.put("null", Saw.result(() -> consumer.pull(queue, (String) null, 0, 32)));
        seen.put("a few at a time", Saw.result(() -> consumer.pull(queue, "A", 0, 1)));
        return seen;
    }

    private static CompletableFuture<Object> hold(
        DefaultMQPullConsumer consumer, MessageQueue queue, String tags, long offset) throws Exception {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        consumer.pullBlockIfNotFound(queue, tags, offset, 32, new PullCallback() {
            @Override
            public void onSuccess(PullResult result) {
                answer.complete(Saw.pulled(result));
            }

            @Override
            public void onException(Throwable failure) {
                answer.complete(Saw.failure(failure));
            }
        });
        return answer;
    }

    /** A pull that finds nothing waits at the broker for a message, up to the time that the client gives. */
    private static Object held(Context context) throws Exception {
        String topic = context.createTopic("t", 3);
        DefaultMQPullConsumer patient = context.newPull("g", "patient");
        DefaultMQPullConsumer hasty = context.newPull("g2", "hasty");
        // Long enough that it is still held when the scenario looks, even on a machine that is busy.
        hasty.setBrokerSuspendMaxTimeMillis(5000);
        patient.start();
        hasty.start();
        Map<String, Object> seen = new TreeMap<>();
        List<CompletableFuture<Object>> waiting = new ArrayList<>();
        for (int queue = 0; queue < 2; queue++) {
            waiting.add(hold(patient, context.queue(topic, queue), queue == 0 ? "*" : "wanted", 0));
        }
        CompletableFuture<Object> ending = hold(hasty, context.queue(topic, 2), "*", 0);
        Wait.aWhile();
        seen.put("held", !waiting.get(0).isDone() && !waiting.get(1).isDone() && !ending.isDone());
        context.fill(topic, 0, "any", "first");
        seen.put("answered by a message", waiting.get(0).get(3, TimeUnit.SECONDS));
        context.fill(topic, 1, "other", "unwanted");
        Wait.aWhile();
        context.fill(topic, 1, "wanted", "wanted");
        Object answer = waiting.get(1).get(8, TimeUnit.SECONDS);
        // Every five seconds the real broker lets go of those that another tag went past: they go on behind it.
        if (((Map<?, ?>) answer).get("status").toString().equals("NO_MATCHED_MSG")) {
            long next = (Long) ((Map<?, ?>) answer).get("nextBeginOffset");
            answer = hold(patient, context.queue(topic, 1), "wanted", next).get(8, TimeUnit.SECONDS);
        }
        seen.put("answered by its tag", answer);
        seen.put("answered by the end of its time", ending.get(20, TimeUnit.SECONDS));
        seen.put("offset behind the end", hold(hasty, context.queue(topic, 0), "*", 77).get(20, TimeUnit.SECONDS));
        return seen;
    }

    private static Object errors(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        context.fill(topic, 0, "a", "x");
        String writeOnly = context.createTopic("writeonly", 1, 1, Context.WRITE);
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        Map<String, Object> seen = new TreeMap<>();
        MessageQueue good = context.queue(topic, 0);
        // The client learns where the broker is.
        consumer.maxOffset(good);
        seen.put("unknown topic", Saw.result(() -> consumer.pull(context.queue(context.topic("no"), 0), "*", 0, 32)));
        seen.put("queue too high", Saw.result(() -> consumer.pull(context.queue(topic, 2), "*", 0, 32)));
        seen.put("queue below zero", Saw.result(() -> consumer.pull(context.queue(topic, -1), "*", 0, 32)));
        seen.put("topic not to be read", Saw.result(() -> consumer.pull(context.queue(writeOnly, 0), "*", 0, 32)));
        seen.put("unknown broker", Saw.result(
            () -> consumer.pull(new MessageQueue(topic, "broker-none", 0), "*", 0, 32)));
        context.createGroup("closed", "consumeEnable", false);
        DefaultMQPullConsumer closed = context.pull("closed", "closed");
        seen.put("group that must not consume", Saw.result(() -> closed.pull(good, "*", 0, 32)));
        context.createGroup("nobroadcast", "consumeBroadcastEnable", false);
        DefaultMQPullConsumer quiet = context.pull("nobroadcast", "quiet");
        seen.put("group that must not broadcast", Saw.result(() -> quiet.pull(good, "*", 0, 32)));
        Object[][] changes = {
            {"no subscription in the request", "sysFlag", 0},
            {"group unknown to the broker", "consumerGroup", context.group("nobody"), "sysFlag", 0},
            {"group with a dot", "consumerGroup", "a.b"},
            {"topic with a dot", "topic", "a.b"},
            {"SQL that is none", "expressionType", "SQL92", "subscription", "a = = b"},
            {"unknown expression type", "expressionType", "XPATH", "subscription", "//a"},
            {"subscription absent", "subscription", null},
        };
        for (Object[] change : changes) {
            Object[] fields = new Object[change.length - 1];
            System.arraycopy(change, 1, fields, 0, fields.length);
            String group = "g" + seen.size();
            DefaultMQPullConsumer tampered = context.pull(group, "c" + seen.size(), new Tamper(PULL_MESSAGE, fields));
            // Connects; the broker knows the group as soon as a heartbeat has followed.
            tampered.maxOffset(good);
            Wait.until("heartbeat of " + group, 20, () -> Saw.result(() -> context.api().getConsumerIdListByGroup(
                context.setup.broker, context.group(group), 15_000)) instanceof List);
            seen.put((String) change[0], Saw.result(() -> tampered.pull(good, "*", 0, 32)));
            tampered.shutdown();
        }
        return seen;
    }
}
