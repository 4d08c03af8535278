package driver;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * The official transaction producer: what it is told, when it is asked, and what consumers get. The servers ask every
 * few seconds, and give up after three questions.
 */
final class TransactionsScenarios {
    private static final int PATIENCE = 60;
    /** How often the servers ask (their setting). */
    private static final int MOST_CHECKS = 3;
    private static final int ROUND_SECONDS = 3;

    private TransactionsScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("transaction_ends", TransactionsScenarios::ends);
        scenarios.put("transaction_failing", TransactionsScenarios::failing);
        scenarios.put("transaction_questions", TransactionsScenarios::questions);
        scenarios.put("transaction_other_member", TransactionsScenarios::otherMember);
        scenarios.put("transaction_immune", TransactionsScenarios::immune);
        scenarios.put("transaction_given_up", TransactionsScenarios::givenUp);
        scenarios.put("transaction_refused", TransactionsScenarios::refused);
        // A restart is asked for by scenarios that are called so (Control).
        scenarios.put("restart_transactions", TransactionsScenarios::restarted);
    }

    /** Does with each message what its body says: "commit", "rollback" or "unknown"; and when it is asked, a plan. */
    private static final class Local implements TransactionListener {
        final Map<String, Integer> asked = new ConcurrentHashMap<>();
        final Map<String, Map<String, Object>> questions = new ConcurrentHashMap<>();
        volatile int unknownAnswers;
        volatile LocalTransactionState answer = LocalTransactionState.COMMIT_MESSAGE;

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            if (body.startsWith("fail")) {
                throw new IllegalStateException("the local transaction failed");
            }
            return body.startsWith("commit") ? LocalTransactionState.COMMIT_MESSAGE
                : body.startsWith("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE
                : LocalTransactionState.UNKNOW;
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            int times = asked.merge(Saw.text(message), 1, Integer::sum);
            questions.putIfAbsent(Saw.text(message), shown(message));
            return times > unknownAnswers ? answer : LocalTransactionState.UNKNOW;
        }
    }

    /** What does not depend on how much others have sent. */
    private static Map<String, Object> shown(MessageExt message) {
        Map<String, Object> seen = new TreeMap<>(Saw.message(message));
        seen.put("preparedTransactionOffset", message.getPreparedTransactionOffset() > 0);
        if (!message.getProperties().containsKey(MessageConst.PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET)) {
            return seen;
        }
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        properties.put(MessageConst.PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET, "somewhere");
        seen.put("properties", properties);
        return seen;
    }

    /** A question is about the half message: its place is in a queue that all scenarios share. */
    private static Map<String, Object> withoutPlace(Map<String, Object> question) {
        Map<String, Object> seen = new TreeMap<>(question);
        seen.remove("queueOffset");
        return seen;
    }

    private static TransactionMQProducer producer(Context context, String group, String name, Local local)
        throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(context.group(group));
        context.configure(producer, name);
        producer.setSendMsgTimeout(15_000);
        producer.setTransactionListener(local);
        producer.start();
        return producer;
    }

    private static Map<String, Object> send(TransactionMQProducer producer, Message message) throws Exception {
        TransactionSendResult result = producer.sendMessageInTransaction(message, null);
        Map<String, Object> seen = new TreeMap<>(Saw.sent(result));
        seen.remove("queueOffset");
        seen.put("localState", result.getLocalTransactionState());
        return seen;
    }

    private static Message message(String topic, String body) {
        return new Message(topic, "tag", "key-" + body, body.getBytes(StandardCharsets.UTF_8));
    }

    /** The bodies that can be read of the topic's queue, when there are so many, or after a while. */
    private static List<MessageExt> delivered(Context context, String topic, int count) throws Exception {
        Wait.holds(PATIENCE, () -> context.reader().maxOffset(context.queue(topic, 0)) >= count);
        Wait.aWhile();
        return context.readAll(topic, 0);
    }

    /** Commit and rollback by the producer itself. */
    private static Object ends(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local local = new Local();
        TransactionMQProducer producer = producer(context, "p", "p", local);
        try {
            List<Object> sent = new ArrayList<>();
            for (int number = 0; number < 4; number++) {
                sent.add(send(producer, message(topic, (number % 2 == 0 ? "commit-" : "rollback-") + number)));
            }
            List<Object> found = new ArrayList<>();
            delivered(context, topic, 2).forEach(message -> found.add(shown(message)));
            return Json.map("sent", sent, "delivered", found, "asked", local.asked.keySet());
        } finally {
            producer.shutdown();
        }
    }

    /** A local transaction that throws is asked about. */
    private static Object failing(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local local = new Local();
        TransactionMQProducer producer = producer(context, "p", "p", local);
        try {
            Map<String, Object> sent = send(producer, message(topic, "fail-1"));
            return Json.map("sent", sent, "delivered", Saw.texts(delivered(context, topic, 1)), "asked", local.asked);
        } finally {
            producer.shutdown();
        }
    }

    /** Asked until the answer is known: committed and rolled back, once each. */
    private static Object questions(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local commits = new Local();
        commits.unknownAnswers = 1;
        Local rollsBack = new Local();
        rollsBack.answer = LocalTransactionState.ROLLBACK_MESSAGE;
        TransactionMQProducer one = producer(context, "p", "p", commits);
        TransactionMQProducer two = producer(context, "q", "q", rollsBack);
        try {
            send(one, message(topic, "unknown-1"));
            send(two, message(topic, "unknown-2"));
            // The real broker writes down what was ended up to 3 s later, and may ask once more, and deliver again.
            Map<String, Object> found = shown(delivered(context, topic, 1).get(0));
            Wait.until("the other is asked", PATIENCE, () -> rollsBack.asked.size() == 1);
            Thread.sleep(1000 * ROUND_SECONDS);
            List<Object> asked = new ArrayList<>();
            commits.questions.values().forEach(question -> asked.add(withoutPlace(question)));
            rollsBack.questions.values().forEach(question -> asked.add(withoutPlace(question)));
            return Json.map("delivered", found, "questions", asked, "asked again", commits.asked.get("unknown-1") > 1,
                "asked about the other", rollsBack.asked.keySet(),
                "at the end", new TreeSet<>(Saw.texts(delivered(context, topic, 1))));
        } finally {
            one.shutdown();
            two.shutdown();
        }
    }

    /** Its producer is gone: another member of the group is asked. */
    private static Object otherMember(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local first = new Local();
        TransactionMQProducer one = producer(context, "p", "p1", first);
        send(one, message(topic, "unknown-1"));
        one.shutdown();
        Local second = new Local();
        TransactionMQProducer two = producer(context, "p", "p2", second);
        try {
            // A producer is known to the broker once it knows the topic.
            send(two, message(topic, "rollback-2"));
            List<MessageExt> found = delivered(context, topic, 1);
            return Json.map("delivered", Saw.texts(found), "asked the other", second.asked.keySet());
        } finally {
            two.shutdown();
        }
    }

    /** An immunity of its own: not asked about for so long, however many rounds there are. */
    private static Object immune(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local local = new Local();
        TransactionMQProducer producer = producer(context, "p", "p", local);
        try {
            Message message = message(topic, "unknown-1");
            MessageAccessor.putProperty(message, MessageConst.PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS, "6");
            long began = System.nanoTime();
            send(producer, message);
            Wait.until("it is asked about", PATIENCE, () -> local.asked.size() == 1);
            double seconds = (System.nanoTime() - began) / 1e9;
            List<MessageExt> found = delivered(context, topic, 1);
            return Json.map("not before", seconds >= 6, "delivered", Saw.texts(found));
        } finally {
            producer.shutdown();
        }
    }

    /** Nobody ever knows: so many questions, and no delivery. */
    private static Object givenUp(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local local = new Local();
        local.unknownAnswers = Integer.MAX_VALUE;
        TransactionMQProducer producer = producer(context, "p", "p", local);
        try {
            send(producer, message(topic, "unknown-1"));
            Wait.until("the last question", PATIENCE, () -> local.asked.getOrDefault("unknown-1", 0) >= MOST_CHECKS);
            Thread.sleep(1000 * 2 * ROUND_SECONDS);
            boolean kept = context.route("TRANS_CHECK_MAX_TIME_TOPIC") != null;
            return Json.map("questions", local.asked, "delivered", context.readAll(topic, 0).size(),
                "there is a topic for it", kept);
        } finally {
            producer.shutdown();
        }
    }

    /** What the client itself, or the broker, refuses. */
    private static Object refused(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        TransactionMQProducer producer = producer(context, "p", "p", new Local());
        try {
            Message delayed = message(topic, "commit-1");
            delayed.setDelayTimeLevel(1);
            return Json.map(
                "delayed", Saw.result(() -> send(producer, delayed)),
                "system topic", Saw.result(() -> send(producer, message("RMQ_SYS_TRANS_HALF_TOPIC", "commit-2"))),
                "no body", Saw.result(() -> send(producer, new Message(topic, new byte[0]))),
                "delivered", Saw.texts(delivered(context, topic, 1)));
        } finally {
            producer.shutdown();
        }
    }

    /** The servers stop in the middle: what was sent is asked about and delivered afterwards, nothing is lost. */
    private static Object restarted(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Local local = new Local();
        TransactionMQProducer producer = producer(context, "p", "p", local);
        try {
            Set<String> expected = new TreeSet<>();
            for (int number = 0; number < 20; number++) {
                String body = List.of("commit-", "rollback-", "unknown-").get(number % 3) + number;
                send(producer, message(topic, body));
                if (!body.startsWith("rollback")) {
                    expected.add(body);
                }
            }
            context.restartServer();
            Set<String> found = new TreeSet<>();
            boolean complete = Wait.holds(2 * PATIENCE, () -> {
                found.clear();
                found.addAll(Saw.texts(context.readAll(topic, 0)));
                return found.containsAll(expected);
            });
            Wait.aWhile();
            List<String> all = Saw.texts(context.readAll(topic, 0));
            System.out.println("TOLD restart_transactions: delivered " + all.size() + " of " + expected.size());
            expected.removeAll(found);
            return Json.map("complete", complete, "lost", expected);
        } finally {
            producer.shutdown();
        }
    }
}
