package driver;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends that are refused: by the client's checks, and, past those, by the broker's. */
final class SendErrors {
    private static final int SEND_MESSAGE_V2 = 310;
    private static final int SEND_BATCH_MESSAGE = 320;
    private static final int CONSUMER_SEND_MSG_BACK = 36;

    private SendErrors() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("send_errors_client", SendErrors::client);
        scenarios.put("send_errors_broker", SendErrors::broker);
        scenarios.put("send_errors_permission", SendErrors::permission);
        scenarios.put("send_errors_autocreate_off", SendErrors::autocreateOff);
        scenarios.put("send_errors_readonly", SendErrors::readonly);
    }

    private static DefaultMQProducer once(Context context, String name, Tamper... hook) throws Exception {
        DefaultMQProducer producer = context.newProducer(name, hook);
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        return producer;
    }

    private static Object client(Context context) throws Exception {
        DefaultMQProducer producer = once(context, "p");
        String topic = context.createTopic("t", 1);
        Map<String, Object> seen = new TreeMap<>();
        for (String name : new String[] {"", " ", "a b", "a$b", "a.b", "\u00fc", "t".repeat(128), "SCHEDULE_TOPIC_XXXX",
            "RMQ_SYS_TRANS_HALF_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT"}) {
            seen.put("topic '" + name + "'", Saw.result(() -> producer.send(Context.message(name, "a", "x"))));
        }
        seen.put("no message", Saw.result(() -> producer.send((Message) null)));
        seen.put("no body", Saw.result(() -> producer.send(new Message(topic, "a", (byte[]) null))));
        seen.put("empty body", Saw.result(() -> producer.send(new Message(topic, "a", new byte[0]))));
        seen.put("queue of another topic", Saw.result(() -> producer.send(
            Context.message(topic, "a", "x"), new MessageQueue(topic + "2", "broker-a", 0))));
        seen.put("unknown broker", Saw.result(() -> producer.send(
            Context.message(topic, "a", "x"), new MessageQueue(topic, "broker-none", 0))));
        return seen;
    }

    /** The hook changes the request on its way out: SendMessageRequestHeaderV2's fields have one letter each. */
    private static Object broker(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Map<String, Object> seen = new TreeMap<>();
        Object[][] changes = {
            {"topic with a space", "b", "a b"},
            {"topic with a dot", "b", "a.b"},
            {"topic blank", "b", " "},
            {"topic of 127", "b", "t".repeat(127)},
            {"topic of 128", "b", "t".repeat(128)},
            {"topic of 256", "b", "t".repeat(256)},
            {"schedule topic", "b", "SCHEDULE_TOPIC_XXXX"},
            {"half topic", "b", "RMQ_SYS_TRANS_HALF_TOPIC"},
            {"op half topic", "b", "RMQ_SYS_TRANS_OP_HALF_TOPIC"},
            {"self test topic", "b", "SELF_TEST_TOPIC"},
            {"offset moved topic", "b", "OFFSET_MOVED_EVENT"},
            {"topic named as the cluster", "b", "DefaultCluster"},
            {"topic named as the broker", "b", "broker-a"},
            {"default topic unknown", "b", context.topic("new1"), "c", context.topic("nothing")},
            {"default topic not to be inherited", "b", context.topic("new2"), "c", topic},
            {"queue too high", "e", 2},
            {"queue far too high", "e", 1000},
            {"retry topic without a group", "b", "%RETRY%" + context.group("none")},
            {"dead letter topic without a group", "b", "%DLQ%" + context.group("none")},
            {"properties torn", "i", "a\u0001"},
            {"properties without a value", "i", "a\u0002b"},
            {"properties null", "i", null},
            {"properties of 32768", "i", "k\u0001" + "v".repeat(32_765) + "\u0002"},
            {"sys flag of a compressed body", "f", 1},
            {"queue below zero", "e", -7},
        };
        for (Object[] change : changes) {
            Object[] fields = new Object[change.length - 1];
            System.arraycopy(change, 1, fields, 0, fields.length);
            DefaultMQProducer producer = once(context, "b" + seen.size(), new Tamper(SEND_MESSAGE_V2, fields));
            Map<?, ?> result = (Map<?, ?>) Saw.result(
                () -> producer.send(Context.message(topic, "a", "x"), context.queue(topic, 0)));
            if (change[1].equals("b") || change[0].equals("queue below zero")) {
                // Earlier runs may have sent to that topic, or the broker takes any queue.
                result.remove("queueOffset");
                result.remove("queueId");
            }
            seen.put((String) change[0], result);
            producer.shutdown();
        }
        DefaultMQProducer batches = once(context, "batch", new Tamper(SEND_BATCH_MESSAGE, "e", 9));
        seen.put("batch: queue too high", Saw.result(
            () -> batches.send(List.of(Context.message(topic, "a", "x")), context.queue(topic, 0))));
        DefaultMQProducer retried = once(context, "retried", new Tamper(SEND_BATCH_MESSAGE, "b", "%RETRY%g"));
        seen.put("batch: to a retry topic", Saw.result(
            () -> retried.send(List.of(Context.message(topic, "a", "x")), context.queue(topic, 0))));
        return seen;
    }

    private static Object permission(Context context) throws Exception {
        DefaultMQProducer producer = once(context, "p");
        Map<String, Object> seen = new TreeMap<>();
        for (int perm : new int[] {0, Context.INHERIT, Context.WRITE, Context.READ, Context.READ_WRITE}) {
            String topic = context.createTopic("perm" + perm, 1, 1, perm);
            seen.put("perm " + perm, Json.map(
                "by route", Saw.result(() -> producer.send(Context.message(topic, "a", "x"))),
                "to a queue", Saw.result(() -> producer.send(Context.message(topic, "a", "x"), context.queue(topic, 0))),
                "publish", Saw.result(() -> Saw.queues(producer.fetchPublishMessageQueues(topic))),
                "subscribe", Saw.result(() -> Saw.queues(context.reader().fetchSubscribeMessageQueues(topic))),
                "route", context.route(topic)));
        }
        String fewer = context.createTopic("fewer", 4, 1, Context.READ_WRITE);
        seen.put("queue that may only be read", Saw.result(
            () -> producer.send(Context.message(fewer, "a", "x"), context.queue(fewer, 3))));
        String changing = context.createTopic("changing", 1);
        seen.put("before", Saw.result(() -> producer.send(Context.message(changing, "a", "x"))));
        context.createTopic("changing", 1, 1, Context.READ);
        seen.put("after", Saw.result(
            () -> producer.send(Context.message(changing, "a", "x"), context.queue(changing, 0))));
        return seen;
    }

    /** For a server with brokerPermission=4: it stores nothing new in ordered topics, and takes nothing back. */
    private static Object readonly(Context context) throws Exception {
        DefaultMQProducer producer = once(context, "p");
        Map<String, Object> seen = new TreeMap<>();
        for (boolean ordered : new boolean[] {false, true}) {
            TopicConfig config = new TopicConfig();
            config.setTopicName(context.topic(ordered ? "ordered" : "plain"));
            config.setReadQueueNums(1);
            config.setWriteQueueNums(1);
            config.setPerm(Context.READ_WRITE);
            config.setOrder(ordered);
            context.updateTopic(config);
            String topic = config.getTopicName();
            Wait.until("route of " + topic, 20, () -> context.route(topic) != null);
            MessageQueue queue = context.queue(topic, 0);
            seen.put(topic, Json.map(
                "route", context.route(topic),
                "by route", Saw.result(() -> producer.send(Context.message(topic, "a", "x"))),
                "to a queue", Saw.result(() -> producer.send(Context.message(topic, "a", "x"), queue)),
                "batch", Saw.result(() -> producer.send(List.of(Context.message(topic, "a", "x")), queue)),
                "new topic", Saw.result(() -> producer.send(Context.message(topic + "New", "a", "x")))));
        }
        String plain = context.topic("plain");
        context.awaitEnd(plain, 0, 2);
        Tamper watch = new Tamper(CONSUMER_SEND_MSG_BACK);
        DefaultMQPullConsumer consumer = context.pull("g", "c", watch);
        context.createGroup("g");
        seen.put("pull", Saw.result(() -> consumer.pull(context.queue(plain, 0), "*", 0, 32)));
        // The client then sends a new message; only the broker's answer to sending back is of interest.
        Saw.result(() -> {
            consumer.sendMessageBack(context.readAll(plain, 0).get(0), 1);
            return null;
        });
        seen.put("send back", watch.answers());
        return seen;
    }

    /** For a server with autoCreateTopicEnable=false and autoCreateSubscriptionGroup=false. */
    private static Object autocreateOff(Context context) throws Exception {
        DefaultMQProducer producer = once(context, "p");
        String topic = context.topic("none");
        String known = context.createTopic("known", 1);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("route of TBW102", context.route("TBW102"));
        seen.put("by route", Saw.result(() -> producer.send(Context.message(topic, "a", "x"))));
        seen.put("known topic", Saw.result(() -> producer.send(Context.message(known, "a", "x"))));
        DefaultMQProducer tampered = once(context, "tampered", new Tamper(SEND_MESSAGE_V2, "b", topic));
        seen.put("past the client", Saw.result(
            () -> tampered.send(Context.message(known, "a", "x"), context.queue(known, 0))));
        seen.put("pull without a group", Saw.result(
            () -> context.pull("nogroup", "nogroup").pull(context.queue(known, 0), "*", 0, 32)));
        context.createGroup("made");
        seen.put("pull with a group", Saw.result(
            () -> context.pull("made", "made").pull(context.queue(known, 0), "*", 0, 32)));
        return seen;
    }
}
