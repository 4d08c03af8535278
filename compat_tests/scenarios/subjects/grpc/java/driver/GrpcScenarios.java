package driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.consumer.LitePushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** RocketMQ 5's own client before the official proxy. */
final class GrpcScenarios {
    private static final int QUEUES = 2;

    private GrpcScenarios() {
    }

    @FunctionalInterface
    private interface Play {
        Object play(Grpc grpc) throws Exception;
    }

    static void register(Map<String, Scenario> scenarios) {
        Map<String, Play> all = new TreeMap<>();
        all.put("grpc_dead_letters", GrpcScenarios::deadLetters);
        all.put("grpc_delay", GrpcScenarios::delay);
        all.put("grpc_fifo", GrpcScenarios::fifo);
        all.put("grpc_filters", GrpcScenarios::filters);
        all.put("grpc_kill9", GrpcScenarios::kill9);
        all.put("grpc_lite", GrpcScenarios::lite);
        all.put("grpc_lite_exclusive", GrpcScenarios::liteExclusive);
        all.put("grpc_normal", GrpcScenarios::normal);
        all.put("grpc_proxy_restarted", GrpcLeases::proxyRestarted);
        all.put("grpc_recall", GrpcScenarios::recall);
        all.put("grpc_remoting", GrpcScenarios::remoting);
        all.put("grpc_renewal", GrpcLeases::renewal);
        all.put("grpc_shared", GrpcScenarios::shared);
        all.put("grpc_simple", GrpcScenarios::simple);
        all.put("grpc_transactions", GrpcScenarios::transactions);
        all.put("grpc_types", GrpcScenarios::types);
        all.forEach((name, play) -> scenarios.put(name, context -> {
            try (Grpc grpc = new Grpc(context)) {
                return play.play(grpc);
            }
        }));
    }

    /** What is sent comes once, with everything that it was sent with. */
    private static Object normal(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", QUEUES);
        grpc.context.createGroup("g");
        Grpc.Seen seen = new Grpc.Seen();
        grpc.push("g", topic, Grpc.all(), seen);
        Producer producer = grpc.producer(topic);
        SendReceipt receipt = producer.send(
            Grpc.message(topic, "whole").setTag("A").setKeys("k1", "k2").addProperty("p", "v").build());
        Grpc.send(producer, topic, "b", "c", "d");
        seen.await(4);
        Wait.aWhile();
        Map<String, Object> outcome = new TreeMap<>();
        MessageView whole = seen.all().stream().filter(one -> Grpc.text(one).equals("whole")).findFirst().get();
        outcome.put("whole", grpc.seen(whole));
        outcome.put("same id", whole.getMessageId().equals(receipt.getMessageId()));
        outcome.put("all", seen.sorted());
        return outcome;
    }

    /** Receiving, acknowledging some, making others visible sooner. */
    private static Object simple(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", 1);
        grpc.context.createGroup("g");
        SimpleConsumer consumer = grpc.simple("g", topic, Grpc.all());
        Grpc.send(grpc.producer(topic), topic, "a", "b", "c");
        List<MessageView> first = received(consumer, 3, Duration.ofSeconds(60));
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("first", texts(first));
        for (MessageView message : first) {
            if (Grpc.text(message).equals("a")) {
                consumer.ack(message);
            } else {
                consumer.changeInvisibleDuration(message, Duration.ofSeconds(10));
            }
        }
        List<MessageView> second = received(consumer, 2, Duration.ofSeconds(60));
        outcome.put("second", texts(second));
        outcome.put("attempts", second.stream().map(MessageView::getDeliveryAttempt).collect(Collectors.toList()));
        for (MessageView message : second) {
            consumer.ack(message);
        }
        outcome.put("nothing is left", consumer.receive(16, Duration.ofSeconds(20)).size());
        outcome.put("acknowledged twice", failure(() -> consumer.ack(second.get(0))));
        return outcome;
    }

    static List<MessageView> received(SimpleConsumer consumer, int count, Duration hidden) throws Exception {
        List<MessageView> found = new ArrayList<>();
        long end = System.nanoTime() + (long) (Grpc.PATIENCE * 1e9);
        while (found.size() < count && System.nanoTime() < end) {
            found.addAll(consumer.receive(16, hidden));
        }
        return found;
    }

    static List<String> texts(List<MessageView> messages) {
        return messages.stream().map(Grpc::text).sorted().collect(Collectors.toList());
    }

    /** Each message group in its order, also when a message fails once. */
    private static Object fifo(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "FIFO", QUEUES);
        grpc.group("g", config -> config.setConsumeMessageOrderly(true));
        Set<String> failed = ConcurrentHashMap.newKeySet();
        Grpc.Seen seen = new Grpc.Seen(one -> Grpc.text(one).equals("y2") && failed.add("y2"));
        grpc.push("g", topic, Grpc.all(), seen);
        Producer producer = grpc.producer(topic);
        for (int number = 0; number < 5; number++) {
            for (String group : List.of("x", "y", "z")) {
                producer.send(Grpc.message(topic, group + number).setMessageGroup(group).build());
            }
        }
        seen.await(16);
        Wait.aWhile();
        Map<String, Object> outcome = new TreeMap<>();
        for (String group : List.of("x", "y", "z")) {
            outcome.put(group, seen.texts().stream().filter(one -> one.startsWith(group)).collect(Collectors.toList()));
        }
        return outcome;
    }

    /** Not before its time. */
    private static Object delay(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "DELAY", 1);
        grpc.context.createGroup("g");
        Grpc.Seen seen = new Grpc.Seen();
        grpc.push("g", topic, Grpc.all(), seen);
        long due = System.currentTimeMillis() + 4000;
        grpc.producer(topic).send(Grpc.message(topic, "later").setDeliveryTimestamp(due).build());
        seen.await(1);
        long came = System.currentTimeMillis();
        MessageView message = seen.all().get(0);
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("not before", came >= due - 1000);
        outcome.put("not long after", came < due + 15_000);
        outcome.put("knows its time", message.getDeliveryTimestamp().isPresent());
        outcome.put("body", Grpc.text(message));
        return outcome;
    }

    private static Object recall(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "DELAY", 1);
        grpc.context.createGroup("g");
        Grpc.Seen seen = new Grpc.Seen();
        grpc.push("g", topic, Grpc.all(), seen);
        Producer producer = grpc.producer(topic);
        long due = System.currentTimeMillis() + 8000;
        SendReceipt taken = producer.send(Grpc.message(topic, "taken back").setDeliveryTimestamp(due).build());
        producer.send(Grpc.message(topic, "comes").setDeliveryTimestamp(due + 1000).build());
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("has a handle", taken.getRecallHandle() != null && !taken.getRecallHandle().isEmpty());
        outcome.put("same id",
            producer.recallMessage(topic, taken.getRecallHandle()).getMessageId().equals(taken.getMessageId()));
        outcome.put("no handle", failure(() -> producer.recallMessage(topic, "x")));
        seen.await(1);
        Wait.aWhile();
        outcome.put("came", seen.texts());
        return outcome;
    }

    /** Committed, rolled back, and asked for. */
    private static Object transactions(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "TRANSACTION", 1);
        grpc.context.createGroup("g");
        Set<String> asked = ConcurrentHashMap.newKeySet();
        Grpc.Seen seen = new Grpc.Seen();
        grpc.push("g", topic, Grpc.all(), seen);
        Producer producer = grpc.transactions(message -> {
            asked.add(Grpc.text(message));
            return Grpc.text(message).equals("asked, commit") ? TransactionResolution.COMMIT
                : TransactionResolution.ROLLBACK;
        }, topic);
        for (String body : List.of("commit", "rollback", "asked, commit", "asked, rollback")) {
            Transaction transaction = producer.beginTransaction();
            producer.send(Grpc.message(topic, body).build(), transaction);
            if (body.equals("commit")) {
                transaction.commit();
            } else if (body.equals("rollback")) {
                transaction.rollback();
            }
        }
        seen.await(2);
        Wait.until("both are asked for", Grpc.PATIENCE, () -> asked.size() == 2);
        Wait.aWhile();
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("asked", asked.stream().sorted().collect(Collectors.toList()));
        outcome.put("came", seen.sorted());
        return outcome;
    }

    private static Object filters(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", QUEUES);
        grpc.context.createGroup("tags");
        grpc.context.createGroup("sql");
        Grpc.Seen tags = new Grpc.Seen();
        Grpc.Seen sql = new Grpc.Seen();
        grpc.push("tags", topic, Grpc.tag("A || C"), tags);
        grpc.push("sql", topic, Grpc.sql("TAGS = 'B' OR n > 2"), sql);
        Producer producer = grpc.producer(topic);
        for (int number = 0; number < 6; number++) {
            String tag = List.of("A", "B", "C").get(number % 3);
            producer.send(Grpc.message(topic, tag + number).setTag(tag).addProperty("n", "" + number).build());
        }
        tags.await(4);
        sql.await(4);
        Wait.aWhile();
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("tags", tags.sorted());
        outcome.put("sql", sql.sorted());
        return outcome;
    }

    /** A message that always fails goes to the dead letters, where a 4.x client finds it. */
    private static Object deadLetters(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", 1);
        grpc.group("g", config -> config.setRetryMaxTimes(1));
        Grpc.Seen seen = new Grpc.Seen(one -> Grpc.text(one).equals("bad"));
        grpc.push("g", topic, Grpc.all(), seen);
        Grpc.send(grpc.producer(topic), topic, "bad", "good");
        seen.await(3);
        String dead = "%DLQ%" + grpc.context.group("g");
        Wait.until("a dead letter", Grpc.PATIENCE,
            () -> grpc.context.route(dead) != null && !grpc.context.readAll(dead, 0).isEmpty());
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("came", seen.sorted());
        outcome.put("attempts", seen.all().stream().filter(one -> Grpc.text(one).equals("bad"))
            .map(MessageView::getDeliveryAttempt).sorted().collect(Collectors.toList()));
        outcome.put("dead", grpc.context.readAll(dead, 0).stream().map(Saw::text).collect(Collectors.toList()));
        return outcome;
    }

    private static DefaultMQPushConsumer classic(Grpc grpc, String group, String topic, Inbox inbox) throws Exception {
        DefaultMQPushConsumer consumer = grpc.context.newPush(group, group);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(inbox);
        return consumer;
    }

    /** One topic for both kinds of clients. */
    private static Object shared(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", QUEUES);
        grpc.context.createGroup("new");
        grpc.context.createGroup("old");
        Grpc.Seen seen = new Grpc.Seen();
        Inbox inbox = new Inbox();
        grpc.push("new", topic, Grpc.all(), seen);
        classic(grpc, "old", topic, inbox).start();
        Grpc.send(grpc.producer(topic), topic, "from new");
        grpc.context.fill(topic, 0, "A", "from old");
        seen.await(2);
        inbox.await(2, Grpc.PATIENCE);
        Wait.aWhile();
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("new", seen.sorted());
        outcome.put("old", inbox.texts().stream().sorted().collect(Collectors.toList()));
        return outcome;
    }

    /** The 4.x client at the proxy's remoting port. */
    private static Object remoting(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", QUEUES);
        grpc.context.createGroup("g");
        String proxy = System.getProperty("proxy.remoting");
        DefaultMQProducer producer = grpc.context.newProducer("p");
        producer.setNamesrvAddr(proxy);
        producer.start();
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = classic(grpc, "g", topic, inbox);
        consumer.setNamesrvAddr(proxy);
        consumer.start();
        Map<String, Object> outcome = new TreeMap<>();
        for (String body : List.of("a", "b", "c")) {
            outcome.put("sent " + body, producer.send(Context.message(topic, "A", body)).getSendStatus().name());
        }
        inbox.await(3, Grpc.PATIENCE);
        outcome.put("came", inbox.texts().stream().sorted().collect(Collectors.toList()));
        return outcome;
    }

    private static String parent(Grpc grpc, Map<String, String> more) throws Exception {
        String topic = grpc.topic("t", "LITE", QUEUES);
        Map<String, String> attributes = new TreeMap<>(more);
        attributes.put("+lite.bind.topic", topic);
        grpc.group("g", config -> config.setAttributes(attributes));
        return topic;
    }

    private static void sendLite(Producer producer, String topic, String name, String... bodies) throws Exception {
        for (String body : bodies) {
            producer.send(Grpc.message(topic, body).setLiteTopic(name).build());
        }
    }

    private static List<String> of(Grpc.Seen seen, String name) {
        return seen.all().stream().filter(one -> one.getLiteTopic().orElse("").equals(name)).map(Grpc::text)
            .sorted().collect(Collectors.toList());
    }

    /** Lite topics. The client hands messages of one to several threads: their order is not seen here. */
    private static Object lite(Grpc grpc) throws Exception {
        String topic = parent(grpc, Map.of());
        Grpc.Seen seen = new Grpc.Seen();
        LitePushConsumer consumer = grpc.lite("g", topic, seen);
        consumer.subscribeLite("one");
        consumer.subscribeLite("two");
        Producer producer = grpc.producer(topic);
        sendLite(producer, topic, "one", "a0", "a1", "a2");
        sendLite(producer, topic, "two", "b0", "b1", "b2");
        sendLite(producer, topic, "three", "c0");
        seen.await(6);
        consumer.subscribeLite("three");
        sendLite(producer, topic, "three", "c1");
        Wait.until("the third one", Grpc.PATIENCE, () -> of(seen, "three").contains("c1"));
        consumer.unsubscribeLite("one");
        Wait.aWhile();
        sendLite(producer, topic, "one", "not any more");
        Wait.aWhile();
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("one", of(seen, "one"));
        outcome.put("two", of(seen, "two"));
        outcome.put("three", of(seen, "three"));
        outcome.put("reads", consumer.getLiteTopicSet().stream().sorted().collect(Collectors.toList()));
        outcome.put("seen", grpc.seen(seen.all().stream().filter(one -> Grpc.text(one).equals("a0")).findFirst().get()));
        return outcome;
    }

    /** In an exclusive group the second reader takes a lite topic over, and the first one is told. */
    private static Object liteExclusive(Grpc grpc) throws Exception {
        String topic = parent(grpc, Map.of("+lite.sub.model", "Exclusive"));
        Grpc.Seen first = new Grpc.Seen();
        Grpc.Seen second = new Grpc.Seen();
        LitePushConsumer one = grpc.lite("g", topic, first);
        one.subscribeLite("one");
        Producer producer = grpc.producer(topic);
        sendLite(producer, topic, "one", "a0");
        first.await(1);
        LitePushConsumer two = grpc.lite("g", topic, second);
        two.subscribeLite("one");
        Wait.until("the first one is told", Grpc.PATIENCE, () -> one.getLiteTopicSet().isEmpty());
        sendLite(producer, topic, "one", "a1");
        second.await(1);
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("first", first.texts());
        outcome.put("second", second.texts());
        outcome.put("reads", new ArrayList<>(two.getLiteTopicSet()));
        return outcome;
    }

    /** The proxy compares a message with its topic's type. */
    private static Object types(Grpc grpc) throws Exception {
        String normal = grpc.topic("t", "NORMAL", 1);
        String fifo = grpc.topic("f", "FIFO", 1);
        Producer producer = grpc.producer(normal, fifo);
        Map<String, Object> outcome = new TreeMap<>();
        long due = System.currentTimeMillis() + 5000;
        outcome.put("delayed, into a normal one",
            failure(() -> producer.send(Grpc.message(normal, "x").setDeliveryTimestamp(due).build())));
        outcome.put("normal, into an ordered one", failure(() -> producer.send(Grpc.message(fifo, "x").build())));
        outcome.put("unknown topic",
            failure(() -> producer.send(Grpc.message(grpc.context.topic("unknown"), "x").build())));
        return outcome;
    }

    /** The broker is killed and started while a consumer waits and has unacknowledged messages. */
    private static Object kill9(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", QUEUES);
        grpc.context.createGroup("g");
        Grpc.Seen seen = new Grpc.Seen();
        grpc.push("g", topic, Grpc.all(), seen);
        Producer producer = grpc.producer(topic);
        Grpc.send(producer, topic, "a", "b", "c");
        seen.await(3);
        grpc.context.restartServer();
        for (String body : List.of("d", "e", "f")) {
            Wait.until(body + " is sent", Grpc.PATIENCE, () -> failure(() -> Grpc.send(producer, topic, body)) == null);
        }
        Wait.until("all have come", Grpc.PATIENCE, () -> seen.texts().containsAll(List.of("d", "e", "f")));
        return seen.texts().stream().distinct().sorted().collect(Collectors.toList());
    }

    @FunctionalInterface
    private interface Try {
        void run() throws Exception;
    }

    /** The kind of failure; null without one. */
    private static String failure(Try attempt) throws Exception {
        try {
            attempt.run();
            return null;
        } catch (ClientException | IllegalArgumentException failure) {
            return failure.getClass().getSimpleName();
        }
    }
}
