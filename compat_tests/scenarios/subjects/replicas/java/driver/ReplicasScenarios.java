package driver;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/** Readers of a master with a slave. What a "restart" is, the harness knows. */
final class ReplicasScenarios {
    private static final int EACH = 20;

    private ReplicasScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("restart_master_gone", ReplicasScenarios::masterGone);
        scenarios.put("restart_lagging", ReplicasScenarios::lagging);
    }

    private static DefaultMQPushConsumer reader(Context context, String group) {
        DefaultMQPushConsumer consumer = context.newPush(group, group);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // Few in hand, so that most messages are still to be pulled.
        consumer.setPullThresholdForQueue(4);
        consumer.setPullBatchSize(2);
        return consumer;
    }

    /** How many of so many different messages never came. */
    private static int lost(Inbox inbox, int expected) throws Exception {
        Set<String> distinct = new TreeSet<>();
        Wait.holds(90, () -> {
            distinct.addAll(inbox.texts());
            return distinct.size() == expected;
        });
        return expected - distinct.size();
    }

    /** The master goes in the middle: who reads, reads on from the slave; who comes, reads all of it there. */
    private static Object masterGone(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        context.fill(topic, 0, "a", Context.bodies("x", EACH));
        context.fill(topic, 1, "a", Context.bodies("y", EACH));
        CountDownLatch gone = new CountDownLatch(1);
        AtomicInteger seen = new AtomicInteger();
        Inbox inbox = new Inbox(message -> {
            try {
                if (seen.incrementAndGet() > 10) {
                    gone.await();
                }
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
            return false;
        });
        Pushing.start(reader(context, "g"), topic, inbox);
        inbox.await(10, 30);
        DefaultMQProducer producer = context.newProducer("p");
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(3000);
        producer.start();
        context.restartServer();
        int before = inbox.size();
        gone.countDown();
        int lost = lost(inbox, 2 * EACH);
        Inbox late = new Inbox();
        Pushing.start(reader(context, "late"), topic, late);
        int lostLate = lost(late, 2 * EACH);
        boolean sent = isSent(producer, topic, "no");
        context.restartServer();
        boolean sends = Wait.holds(60, () -> isSent(producer, topic, "new"));
        boolean arrives = Wait.holds(60, () -> inbox.texts().contains("new") && late.texts().contains("new"));
        return Json.map("gone in the middle", before < 2 * EACH, "lost", lost, "lost of who came later", lostLate,
            "sent without a master", sent, "sends when it is back", sends, "and they arrive", arrives);
    }

    private static boolean isSent(DefaultMQProducer producer, String topic, String body) {
        try {
            producer.send(Context.message(topic, "a", body));
            return true;
        } catch (Exception unavailable) {
            return false;
        }
    }

    /** Behind by more than the memory that the broker allows itself, until it has caught up. */
    private static Object lagging(Context context) throws Exception {
        int count = Integer.getInteger("replicas.count");
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.newProducer("p");
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.start();
        byte[] body = new byte[Integer.getInteger("replicas.size")];
        for (int at = 0; at < count; at++) {
            producer.send(new Message(topic, body), context.queue(topic, 0));
        }
        context.restartServer();
        AtomicInteger seen = new AtomicInteger();
        DefaultMQPushConsumer consumer = reader(context, "g");
        consumer.setPullBatchSize(1);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly)
            (messages, place) -> {
                seen.addAndGet(messages.size());
                return org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus.SUCCESS;
            });
        consumer.start();
        boolean complete = Wait.holds(120, () -> seen.get() >= count);
        return Json.map("complete", complete, "seen twice", seen.get() - count);
    }
}
