package driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Every way to send, and what is stored of it. */
final class Sending {
    private Sending() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("send_sync", Sending::sync);
        scenarios.put("send_async", Sending::async);
        scenarios.put("send_oneway", Sending::oneway);
        scenarios.put("send_batch", Sending::batch);
        scenarios.put("send_selector", Sending::selector);
        scenarios.put("send_queue_choice", Sending::queueChoice);
        scenarios.put("send_delayed", Sending::delayed);
        scenarios.put("send_properties", Sending::properties);
        scenarios.put("send_compressed", Sending::compressed);
        scenarios.put("send_autocreate", Sending::autocreate);
        scenarios.put("send_big", Sending::big);
        scenarios.put("send_vip", Sending::vip);
    }

    private static Object sync(Context context) throws Exception {
        String topic = context.createTopic("t", 3);
        DefaultMQProducer producer = context.producer("p");
        List<Object> sent = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Message message = Context.message(topic, i % 2 == 0 ? "even" : "odd", "body-" + i);
            message.setKeys("key-" + i);
            message.setFlag(i);
            sent.add(Saw.sent(producer.send(message, context.queue(topic, i % 3))));
        }
        context.awaitEnd(topic, 2, 2);
        return Json.map("sent", sent, "stored", Saw.messages(context.readQueues(topic, 0, 1, 2)));
    }

    private static Object async(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        DefaultMQProducer producer = context.producer("p");
        List<CompletableFuture<Map<String, Object>>> futures = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            CompletableFuture<Map<String, Object>> future = new CompletableFuture<>();
            futures.add(future);
            producer.send(Context.message(topic, "a", "body-" + i), context.queue(topic, i % 2), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    future.complete(Saw.sent(result));
                }

                @Override
                public void onException(Throwable failure) {
                    future.complete(Saw.failure(failure));
                }
            });
        }
        Map<String, Object> sent = new TreeMap<>();
        // Several threads of client and broker carry asynchronous sends: their order is no one's promise.
        for (CompletableFuture<Map<String, Object>> future : futures) {
            Map<String, Object> result = future.get(20, TimeUnit.SECONDS);
            sent.put(result.get("queueId") + "/" + result.get("queueOffset"), result);
        }
        context.awaitEnd(topic, 1, 10);
        return Json.map("sent", sent, "stored", Saw.texts(context.readQueues(topic, 0, 1)));
    }

    private static Object oneway(Context context) throws Exception {
        String topic = context.createTopic("t", 3);
        DefaultMQProducer producer = context.producer("p");
        for (int i = 0; i < 3; i++) {
            producer.sendOneway(Context.message(topic, "a", "body-" + i), context.queue(topic, i));
        }
        for (int i = 0; i < 3; i++) {
            context.awaitEnd(topic, i, 1);
        }
        return Saw.messages(context.readQueues(topic, 0, 1, 2));
    }

    private static Object batch(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        DefaultMQProducer producer = context.producer("p");
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            Message message = Context.message(topic, "tag" + i, "batched-" + i);
            message.setKeys("k" + i + " extra");
            message.putUserProperty("number", "" + i);
            batch.add(message);
        }
        Object one = Saw.sent(producer.send(batch, context.queue(topic, 1)));
        Object two = Saw.sent(producer.send(batch.subList(0, 1), context.queue(topic, 1)));
        Object single = Saw.sent(producer.send(Context.message(topic, "s", "single"), context.queue(topic, 1)));
        Object three = Saw.sent(producer.send(batch.subList(1, 3), context.queue(topic, 1)));
        context.awaitEnd(topic, 1, 9);
        List<Message> mixed = List.of(Context.message(topic, "a", "x"), Context.message(topic + "2", "a", "x"));
        Message late = Context.message(topic, "a", "x");
        late.setDelayTimeLevel(1);
        return Json.map("sent", Arrays.asList(one, two, single, three),
            "stored", Saw.messages(context.readAll(topic, 1)),
            "two topics", Saw.result(() -> producer.send(mixed)),
            "delayed", Saw.result(() -> producer.send(List.of(late))),
            "empty", Saw.result(() -> producer.send(new ArrayList<Message>())));
    }

    private static Object selector(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        DefaultMQProducer producer = context.producer("p");
        List<Object> sent = new ArrayList<>();
        for (int order = 0; order < 8; order++) {
            sent.add(Saw.sent(producer.send(Context.message(topic, "a", "order-" + order),
                (queues, message, arg) -> queues.get((Integer) arg % queues.size()), order * 3)));
        }
        for (int i = 0; i < 4; i++) {
            context.awaitEnd(topic, i, 2);
        }
        return Json.map("sent", sent, "publish", Saw.queues(producer.fetchPublishMessageQueues(topic)),
            "stored", Saw.messages(context.readQueues(topic, 0, 1, 2, 3)));
    }

    /** Round robin starts anywhere, so only the numbers per queue are the same in every run. */
    private static Object queueChoice(Context context) throws Exception {
        String topic = context.createTopic("t", 8, 4, Context.READ_WRITE);
        DefaultMQProducer producer = context.producer("p");
        Map<Integer, List<Long>> byClient = new TreeMap<>();
        for (int i = 0; i < 12; i++) {
            SendResult result = producer.send(Context.message(topic, "a", "x"));
            byClient.computeIfAbsent(result.getMessageQueue().getQueueId(), id -> new ArrayList<>())
                .add(result.getQueueOffset());
        }
        // A queue id below zero asks the broker to choose: it takes any that may be written.
        DefaultMQProducer undecided = context.producer("u", new Tamper(310, "e", -1));
        boolean writable = true;
        for (int i = 0; i < 12; i++) {
            SendResult result = undecided.send(Context.message(topic, "a", "x"));
            int id = result.getMessageQueue().getQueueId();
            writable &= id >= 0 && id < 4;
        }
        return Json.map("by client", byClient, "by broker, writable", writable,
            "publish", Saw.queues(producer.fetchPublishMessageQueues(topic)),
            "subscribe", Saw.queues(context.reader().fetchSubscribeMessageQueues(topic)));
    }

    private static Object delayed(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        DefaultMQProducer producer = context.producer("p");
        int[] levels = {1, 2, 5, 99};
        List<Object> sent = new ArrayList<>();
        for (int queue = 0; queue < levels.length; queue++) {
            Message message = Context.message(topic, "late", "level-" + levels[queue]);
            message.setKeys("k");
            message.setDelayTimeLevel(levels[queue]);
            Map<String, Object> result = Saw.sent(producer.send(message, context.queue(topic, queue)));
            // The offset is that of the level's queue, which everybody's messages share.
            sent.add(Json.map("result", result, "offset known", (Long) result.remove("queueOffset") >= 0));
        }
        List<MessageExt> stored = new ArrayList<>();
        List<Boolean> early = new ArrayList<>();
        for (int queue = 0; queue < levels.length; queue++) {
            context.awaitEnd(topic, queue, 1);
            stored.addAll(context.readAll(topic, queue));
        }
        // Levels of the test servers: 1 s, 3 s, 2 s for the fifth, 1 s for the last.
        long[] seconds = {1, 3, 2, 1};
        for (int queue = 0; queue < levels.length; queue++) {
            MessageExt message = stored.get(queue);
            long took = message.getStoreTimestamp() - message.getBornTimestamp();
            early.add(took < seconds[queue] * 1000 - 50);
        }
        List<String> arrival = stored.stream()
            .filter(message -> message.getQueueId() < 3)
            .sorted((a, b) -> Long.compare(a.getStoreTimestamp(), b.getStoreTimestamp()))
            .map(Saw::text).collect(Collectors.toList());
        return Json.map("sent", sent, "stored", Saw.messages(stored), "too early", early, "arrival", arrival);
    }

    private static Object properties(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        List<Object> sent = new ArrayList<>();
        Message plain = new Message(topic, "body only".getBytes());
        Message keys = Context.message(topic, "TagA", "keys");
        keys.setKeys(List.of("one", "two", "three"));
        Message flags = Context.message(topic, "TagB", "flags");
        flags.setFlag(-123456789);
        flags.setWaitStoreMsgOK(false);
        flags.setBuyerId("buyer");
        Message user = Context.message(topic, " spaced tag ", "user");
        user.putUserProperty("plain", "value");
        user.putUserProperty("unicode", "\u043a\u043b\u044e\u0447-\u9375-\u00e9");
        user.putUserProperty("quotes", "a\"b'c\\d{e}[f]:g,h;i=j");
        user.putUserProperty("spaces", " x ");
        Message long_ = Context.message(topic, "t".repeat(200), "long");
        long_.putUserProperty("long", "v".repeat(20_000));
        for (Message message : List.of(plain, keys, flags, user, long_)) {
            sent.add(Saw.sent(producer.send(message)));
        }
        Message tooLong = Context.message(topic, "a", "too long");
        tooLong.putUserProperty("long", "v".repeat(40_000));
        Object refused = Saw.result(() -> producer.send(tooLong));
        context.awaitEnd(topic, 0, 5);
        return Json.map("sent", sent, "stored", Saw.messages(context.readAll(topic, 0)), "too long", refused);
    }

    private static Object compressed(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        List<Object> sent = new ArrayList<>();
        for (int size : new int[] {4095, 4096, 4097, 100_000}) {
            sent.add(Saw.sent(producer.send(new Message(topic, "a", "abcdefgh".repeat(size / 8 + 1).substring(0, size)
                .getBytes()))));
        }
        context.awaitEnd(topic, 0, 4);
        return Json.map("sent", sent, "stored", Saw.messages(context.readAll(topic, 0)));
    }

    private static Object autocreate(Context context) throws Exception {
        Map<String, Object> seen = new TreeMap<>();
        for (int wanted : new int[] {1, 4, 8, 16}) {
            String topic = context.topic("auto" + wanted);
            DefaultMQProducer producer = context.newProducer("p" + wanted);
            producer.setDefaultTopicQueueNums(wanted);
            producer.start();
            Map<String, Object> before = context.route(topic);
            Map<String, Object> sent = Saw.sent(producer.send(Context.message(topic, "a", "first")));
            Wait.until("route of " + topic, 10, () -> context.route(topic) != null);
            // The client starts its round robin anywhere.
            boolean inRange = (Integer) sent.remove("queueId") < Math.min(wanted, 8);
            seen.put("wanted " + wanted, Json.map("before", before, "sent", sent, "queue in range", inRange,
                "route", context.route(topic)));
        }
        // A template other than TBW102: the new topic takes over its permission, if that may be inherited.
        for (int perm : new int[] {Context.READ_WRITE | Context.INHERIT, Context.WRITE | Context.INHERIT, 6}) {
            String template = context.createTopic("template" + perm, 2, 2, perm);
            String topic = context.topic("from" + perm);
            DefaultMQProducer producer = context.newProducer("q" + perm);
            producer.setCreateTopicKey(template);
            producer.setDefaultTopicQueueNums(2);
            producer.setRetryTimesWhenSendFailed(0);
            producer.start();
            Object sent = Saw.result(() -> {
                Map<String, Object> result = Saw.sent(producer.send(Context.message(topic, "a", "first")));
                result.remove("queueId");
                return result;
            });
            boolean routed = Wait.holds(5, () -> context.route(topic) != null);
            seen.put("template " + perm, Json.map("sent", sent, "routed", routed, "route", context.route(topic)));
        }
        seen.put("TBW102", context.route("TBW102"));
        return seen;
    }

    private static byte[] noise(int size) {
        byte[] body = new byte[size];
        new Random(7).nextBytes(body);
        return body;
    }

    /** 4 MiB is the broker's limit for a body, and the client's, who can raise its own. */
    private static Object big(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer strict = context.newProducer("strict");
        DefaultMQProducer generous = context.newProducer("generous");
        generous.setMaxMessageSize(32 << 20);
        for (DefaultMQProducer producer : List.of(strict, generous)) {
            producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
            producer.setRetryTimesWhenSendFailed(0);
            producer.setSendMsgTimeout(10_000);
            producer.start();
        }
        Map<String, Object> seen = new TreeMap<>();
        int limit = 4 << 20;
        seen.put("limit", Saw.result(() -> strict.send(new Message(topic, "a", noise(limit)))));
        seen.put("limit + 1, client's check", Saw.result(() -> strict.send(new Message(topic, "a", noise(limit + 1)))));
        seen.put("limit + 1", Saw.result(() -> generous.send(new Message(topic, "a", noise(limit + 1)))));
        seen.put("limit * 2", Saw.result(() -> generous.send(new Message(topic, "a", noise(limit * 2)))));
        List<Message> batch = List.of(new Message(topic, "a", noise(limit / 2)), new Message(topic, "a", noise(limit / 2)));
        // The real broker's answer is an exception of its own, with class and line: only its code matters.
        try {
            seen.put("batch over the limit", Saw.sent(generous.send(batch)));
        } catch (MQClientException refused) {
            seen.put("batch over the limit", ((MQBrokerException) refused.getCause()).getResponseCode());
        }
        seen.put("small one afterwards", Saw.result(() -> generous.send(Context.message(topic, "a", "small"))));
        context.awaitEnd(topic, 0, 2);
        context.reader().setConsumerPullTimeoutMillis(20_000);
        seen.put("stored", Saw.messages(context.readAll(topic, 0)));
        return seen;
    }

    /** The VIP channel: the same broker on its port minus two. */
    private static Object vip(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.newProducer("p");
        producer.setVipChannelEnabled(true);
        producer.start();
        Object sent = Saw.result(() -> producer.send(Context.message(topic, "a", "vip"), context.queue(topic, 0)));
        context.awaitEnd(topic, 0, 1);
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(topic);
        return Json.map("sent", sent, "stored", Saw.messages(context.readAll(topic, 0)), "publish", Saw.queues(queues));
    }
}
