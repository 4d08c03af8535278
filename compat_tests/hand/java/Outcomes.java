import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import trimq.TriMQExtension;

/**
 * What a delay, a retry and the question about a transaction come to: by time that passes, or that a test moves
 * (TRIMQ_HAND). Lines of NAME, what of it, and the value, with tabs between them.
 */
public final class Outcomes {
    // Chance, or the client's own.
    private static final Set<String> LEFT_OUT = Set.of("MAX_OFFSET", "MIN_OFFSET", "CONSUME_START_TIME");
    private static final long PATIENCE = 90_000;

    private final TriMQExtension hand = System.getenv("TRIMQ_HAND") == null ? null : new TriMQExtension();
    private final String namesrv;
    private final String run;
    private final DefaultMQProducer setup;

    private Outcomes(String namesrv, String run) throws Exception {
        this.namesrv = namesrv;
        this.run = run;
        setup = new DefaultMQProducer("setup");
        setup.setNamesrvAddr(namesrv);
        setup.start();
    }

    public static void main(String[] arguments) throws Exception {
        Outcomes outcomes = new Outcomes(arguments[0], arguments[1]);
        outcomes.delay();
        outcomes.retry();
        outcomes.transaction();
        // Clients of which not all were shut down.
        System.exit(0);
    }

    private void delay() throws Exception {
        String topic = topic("delay");
        BlockingQueue<MessageExt> got = new LinkedBlockingQueue<>();
        consumer(topic, message -> got.add(message));
        setup.send(new Message(topic, "at once".getBytes(UTF_8)));
        Message later = new Message(topic, "tag", "key", "after level 2".getBytes(UTF_8));
        later.setDelayTimeLevel(2);
        setup.send(later);
        await(() -> got.size() == 2);
        // The listener has several threads.
        List<MessageExt> both = new ArrayList<>(got);
        both.sort(Comparator.comparing(MessageExt::getQueueOffset));
        MessageExt first = both.get(0);
        MessageExt second = both.get(1);
        tell("delay", second);
        System.out.println("delay\tin time\t" + isAbout(second.getStoreTimestamp() - first.getStoreTimestamp(), 5000));
    }

    private void retry() throws Exception {
        String topic = topic("retry");
        BlockingQueue<MessageExt> got = new LinkedBlockingQueue<>();
        consumer(topic, message -> got.add(message) && message.getReconsumeTimes() > 0);
        setup.send(new Message(topic, "tag", "key", "again".getBytes(UTF_8)));
        await(() -> got.size() == 2);
        MessageExt first = got.take();
        MessageExt second = got.take();
        tell("retry", second);
        System.out.println("retry\tin time\t" + isAbout(second.getStoreTimestamp() - first.getStoreTimestamp(), 10_000));
    }

    private void transaction() throws Exception {
        String topic = topic("transaction");
        BlockingQueue<MessageExt> got = new LinkedBlockingQueue<>();
        BlockingQueue<MessageExt> asked = new LinkedBlockingQueue<>();
        TransactionMQProducer producer = new TransactionMQProducer(topic + "Producer");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                asked.add(message);
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        producer.setNamesrvAddr(namesrv);
        producer.start();
        consumer(topic, message -> got.add(message));
        producer.sendMessageInTransaction(new Message(topic, "tag", "key", "transfer".getBytes(UTF_8)), null);
        // Its heartbeat is on its way when it connects.
        Thread.sleep(500);
        await(() -> got.size() == 1);
        tell("transaction", got.take());
        tell("question", asked.take());
        System.out.println("question\tasked again\t" + asked.size());
    }

    private String topic(String name) throws Exception {
        String topic = run + "_" + name;
        for (String one : List.of(topic, "%RETRY%" + topic + "Group")) {
            setup.createTopic("TBW102", one, 1, Map.of());
        }
        // The NameServer tells of it when the broker has told it.
        for (long ends = System.currentTimeMillis() + PATIENCE; System.currentTimeMillis() < ends; Thread.sleep(50)) {
            try {
                if (!setup.fetchPublishMessageQueues(topic).isEmpty()) {
                    return topic;
                }
            } catch (Exception notYet) {
                continue;
            }
        }
        throw new AssertionError("no route for " + topic);
    }

    private void consumer(String topic, java.util.function.Predicate<MessageExt> takes) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(topic + "Group");
        consumer.setNamesrvAddr(namesrv);
        consumer.setPollNameServerInterval(1000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.setMessageListener((MessageListenerConcurrently) (messages, context) ->
            takes.test(messages.get(0)) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        consumer.start();
    }

    private void await(Callable<Boolean> holds) throws Exception {
        if (hand != null) {
            hand.advanceUntil(holds);
            return;
        }
        for (long ends = System.currentTimeMillis() + PATIENCE; !holds.call(); Thread.sleep(20)) {
            if (System.currentTimeMillis() > ends) {
                throw new AssertionError("not so after " + PATIENCE + " ms");
            }
        }
    }

    /** Not before its time, nor long after it. */
    private static String isAbout(long millis, long expected) {
        return millis >= expected && millis < expected + 5000 ? "yes" : millis + " ms";
    }

    private static void tell(String name, MessageExt message) {
        Map<String, String> seen = new TreeMap<>(message.getProperties());
        seen.keySet().removeAll(LEFT_OUT);
        seen.put("(topic)", message.getTopic());
        seen.put("(body)", new String(message.getBody(), UTF_8));
        seen.put("(reconsumeTimes)", "" + message.getReconsumeTimes());
        seen.put("(queue)", message.getQueueId() + " " + message.getQueueOffset());
        seen.put("(flags)", message.getSysFlag() + " " + message.getFlag());
        seen.forEach((what, value) -> System.out.println(name + "\t" + what + "\t" + value));
    }
}
