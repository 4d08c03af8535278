package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.compression.CompressorFactory;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;

/** Compressed bodies of every kind, and batches that the client makes by itself. The broker changes none of them. */
final class BodiesScenarios {
    private static final int SEND_V2 = 310;
    private static final int SEND_BATCH = 320;
    private static final int LEVEL = 5;
    /** As many as threads; each asks for the result of its own message. */
    private static final int AT_ONCE = 16;

    private BodiesScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("bodies_plain", BodiesScenarios::plain);
        scenarios.put("bodies_batch", BodiesScenarios::batch);
        scenarios.put("bodies_inner_batch", BodiesScenarios::innerBatch);
        scenarios.put("bodies_auto_batch", context -> autoBatch(context, false));
        scenarios.put("bodies_auto_inner_batch", context -> autoBatch(context, true));
        scenarios.put("bodies_auto_batch_callbacks", BodiesScenarios::autoBatchCallbacks);
    }

    /** For whoever reads the topic in another way: our own tools do. */
    private static String told(String topic) {
        System.out.println("BODIES " + topic);
        return topic;
    }

    private static String text(CompressionType type, int number) {
        return (type + "-" + number + " ").repeat(1000);
    }

    /** The client compresses what is longer than 4 KiB. */
    private static Object plain(Context context) throws Exception {
        String topic = told(context.createTopic("t", 1));
        List<Object> sent = new ArrayList<>();
        for (CompressionType type : CompressionType.values()) {
            DefaultMQProducer producer = context.newProducer("p" + type);
            producer.setCompressType(type);
            producer.start();
            for (int i = 0; i < 2; i++) {
                Message message = Context.message(topic, "tag" + i, text(type, i));
                message.setKeys(type + "-" + i);
                sent.add(Saw.sent(producer.send(message)));
            }
            sent.add(Saw.sent(producer.send(Context.message(topic, "short", "short " + type))));
        }
        return read(context, topic, 9, sent);
    }

    /** Several records of one request; the flag stands in its header, each body is compressed by itself. */
    private static Object batch(Context context) throws Exception {
        String topic = told(context.createTopic("t", 1));
        List<Object> sent = new ArrayList<>();
        for (CompressionType type : CompressionType.values()) {
            DefaultMQProducer producer = context.producer("p" + type, new Tamper(SEND_BATCH, "f", flags(type)));
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Message message = new Message(topic, "tag" + i, compressed(type, text(type, i).getBytes()));
                message.setKeys(type + "-" + i);
                messages.add(message);
            }
            sent.add(Saw.sent(producer.send(messages)));
        }
        return read(context, topic, 9, sent);
    }

    /** Several messages in one record, compressed together. */
    private static Object innerBatch(Context context) throws Exception {
        String topic = told(batchTopic(context));
        int inner = MessageSysFlag.INNER_BATCH_FLAG | MessageSysFlag.NEED_UNWRAP_FLAG;
        List<Object> sent = new ArrayList<>();
        for (CompressionType type : CompressionType.values()) {
            Tamper flags = new Tamper(SEND_V2, "f", flags(type) | inner);
            DefaultMQProducer producer = context.newProducer("p" + type, flags);
            // What it compresses itself would be compressed twice.
            producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
            producer.start();
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Message message = Context.message(topic, "tag" + i, text(type, i));
                message.setKeys(type + "-" + i);
                MessageAccessor.putProperty(message, "UNIQ_KEY", "unique-" + type + "-" + i);
                messages.add(message);
            }
            Message outer = new Message(topic, "outer", compressed(type, MessageDecoder.encodeMessages(messages)));
            MessageAccessor.putProperty(outer, "INNER_NUM", "3");
            sent.add(Saw.sent(producer.send(outer)));
        }
        return read(context, topic, 9, sent);
    }

    private static String batchTopic(Context context) throws Exception {
        TopicConfig config = new TopicConfig(context.topic("t"));
        config.setReadQueueNums(1);
        config.setWriteQueueNums(1);
        config.setPerm(Context.READ_WRITE);
        Compat.withBatchQueues(config);
        context.updateTopic(config);
        Wait.until("route of " + config.getTopicName(), 10, () -> context.route(config.getTopicName()) != null);
        return config.getTopicName();
    }

    private static int flags(CompressionType type) {
        return MessageSysFlag.COMPRESSED_FLAG | type.getCompressionFlag();
    }

    private static byte[] compressed(CompressionType type, byte[] body) throws Exception {
        return CompressorFactory.getCompressor(type).compress(body, LEVEL);
    }

    /** What was told to the sender, and what consumers of both kinds get. */
    private static Object read(Context context, String topic, int count, Object sent) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        consumer.subscribe(topic, "*");
        consumer.setMessageListener(inbox);
        consumer.start();
        inbox.await(count, 40);
        List<MessageExt> pulled = context.readAll(topic, 0);
        return Json.map("sent", sent, "pulled", Saw.messages(pulled), "pushed", Saw.messages(inbox.all()));
    }

    /** Threads send at a time; the client sends one batch of what has come within a few milliseconds. */
    private static Object autoBatch(Context context, boolean inner) throws Exception {
        String topic = told(inner ? batchTopic(context) : context.createTopic("t", 1));
        DefaultMQProducer producer = automatic(context);
        List<CompletableFuture<SendResult>> running = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < AT_ONCE; i++) {
            CompletableFuture<SendResult> result = new CompletableFuture<>();
            Message message = message(topic, i);
            running.add(result);
            threads.add(new Thread(() -> {
                try {
                    result.complete(producer.send(message));
                } catch (Throwable failure) {
                    result.completeExceptionally(failure);
                }
            }));
        }
        threads.forEach(Thread::start);
        List<SendResult> results = new ArrayList<>();
        for (CompletableFuture<SendResult> result : running) {
            results.add(result.get(60, TimeUnit.SECONDS));
        }
        return gathered(context, topic, results, inner);
    }

    private static Object autoBatchCallbacks(Context context) throws Exception {
        String topic = told(context.createTopic("t", 1));
        DefaultMQProducer producer = automatic(context);
        List<CompletableFuture<SendResult>> running = new ArrayList<>();
        for (int i = 0; i < AT_ONCE; i++) {
            CompletableFuture<SendResult> result = new CompletableFuture<>();
            running.add(result);
            producer.send(message(topic, i), new SendCallback() {
                @Override
                public void onSuccess(SendResult sent) {
                    result.complete(sent);
                }

                @Override
                public void onException(Throwable failure) {
                    result.completeExceptionally(failure);
                }
            });
        }
        List<SendResult> results = new ArrayList<>();
        for (CompletableFuture<SendResult> result : running) {
            results.add(result.get(60, TimeUnit.SECONDS));
        }
        return gathered(context, topic, results, false);
    }

    private static DefaultMQProducer automatic(Context context) throws Exception {
        DefaultMQProducer producer = context.newProducer("p");
        producer.setAutoBatch(true);
        // Long enough for all: how they are divided is chance.
        producer.batchMaxDelayMs(1000);
        producer.batchMaxBytes(1 << 20);
        producer.totalBatchMaxBytes(1 << 22);
        producer.start();
        return producer;
    }

    private static Message message(String topic, int number) {
        Message message = Context.message(topic, "auto", String.format("automatic-%02d", number));
        message.setKeys("k" + number);
        return message;
    }

    /** Which message came into which place is chance; that each has one, and what its sender is told, is not. */
    private static Object gathered(Context context, String topic, List<SendResult> results, boolean inner)
        throws Exception {
        context.awaitEnd(topic, 0, AT_ONCE);
        List<MessageExt> stored = context.readAll(topic, 0);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("status", results.stream().map(SendResult::getSendStatus).distinct().collect(Collectors.toList()));
        seen.put("messages", Saw.texts(stored));
        seen.put("keys", stored.stream().map(MessageExt::getKeys).collect(Collectors.toCollection(TreeSet::new)));
        seen.put("offsets", stored.stream().map(MessageExt::getQueueOffset).collect(Collectors.toCollection(TreeSet::new)));
        TreeSet<String> told = results.stream().map(SendResult::getMsgId).collect(Collectors.toCollection(TreeSet::new));
        TreeSet<String> found = stored.stream().map(MessageExt::getMsgId).collect(Collectors.toCollection(TreeSet::new));
        // The members of an inner batch share the result of their record.
        seen.put("each is told its own id", told.equals(found));
        seen.put("batches", inner ? told.size() < AT_ONCE : told.size() == AT_ONCE);
        Map<String, Object> first = Saw.message(Saw.inQueueOrder(stored).get(0));
        for (String chance : List.of("body", "bodyCRC", "keys", "storeSize", "properties")) {
            first.remove(chance);
        }
        seen.put("a message", first);
        return seen;
    }
}
