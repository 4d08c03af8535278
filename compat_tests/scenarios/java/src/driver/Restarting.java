package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Servers that stop and come back, cleanly or by kill -9, while applications go on. */
final class Restarting {
    private Restarting() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("restart_mid_consumption", Restarting::midConsumption);
        scenarios.put("restart_live_clients", Restarting::liveClients);
        scenarios.put("restart_state", Restarting::state);
    }

    /** 200 messages, the server goes away after about 60: nothing lost, at most the uncommitted ones twice. */
    private static Object midConsumption(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, "a", Context.bodies("q" + queue, 50));
        }
        // Behind the 60th the listener waits for the restart, however long a busy machine takes for it.
        CountDownLatch back = new CountDownLatch(1);
        AtomicInteger seen = new AtomicInteger();
        Inbox inbox = new Inbox(message -> {
            try {
                if (seen.incrementAndGet() > 60) {
                    back.await();
                }
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
            return false;
        });
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        // Few in hand, so that most of the messages are still to be pulled when the server comes back.
        consumer.setPullThresholdForQueue(8);
        consumer.setPullBatchSize(4);
        Pushing.start(consumer, topic, inbox);
        inbox.await(60, 30);
        context.restartServer();
        int before = inbox.size();
        back.countDown();
        Set<String> distinct = new TreeSet<>();
        boolean complete = Wait.holds(60, () -> {
            distinct.addAll(inbox.texts());
            return distinct.size() == 200;
        });
        Wait.aWhile();
        int twice = inbox.size() - distinct.size();
        consumer.shutdown();
        List<Object> committed = new ArrayList<>();
        for (int queue = 0; queue < 4; queue++) {
            committed.add(context.settled(context.group("g"), context.queue(topic, queue), 50));
        }
        // A live consumer keeps its place in memory: the server's restart makes it see nothing twice.
        return Json.map("complete", complete, "restarted in the middle", before < 200, "lost", 200 - distinct.size(),
            "seen twice", twice, "committed", committed);
    }

    /** Producer and consumer that know nothing of a restart but some failed calls. */
    private static Object liveClients(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = Pushing.start(context.newPush("g", "c"), topic, inbox);
        Pushing.awaitHeld(topic, 4, consumer);
        DefaultMQProducer producer = context.newProducer("p");
        producer.setSendMsgTimeout(2000);
        producer.start();
        Set<String> acknowledged = new TreeSet<>();
        AtomicBoolean running = new AtomicBoolean(true);
        Thread sending = new Thread(() -> {
            for (int i = 0; running.get(); i++) {
                send(producer, topic, String.format("m-%05d", i), acknowledged);
            }
        });
        sending.start();
        Wait.until("a few are sent", 20, () -> count(acknowledged) > 50);
        context.restartServer();
        int before = count(acknowledged);
        Wait.until("sending goes on", 60, () -> count(acknowledged) > before + 50);
        running.set(false);
        sending.join();
        Set<String> missing = new TreeSet<>(acknowledged);
        boolean complete = Wait.holds(60, () -> {
            missing.removeAll(inbox.texts());
            return missing.isEmpty();
        });
        return Json.map("sent before and after", true, "all acknowledged were consumed", complete,
            "missing", missing.size(), "held", Context.held(consumer, topic),
            "ids", context.api().getConsumerIdListByGroup(context.setup.broker, context.group("g"), 15_000));
    }

    private static void send(DefaultMQProducer producer, String topic, String body, Set<String> acknowledged) {
        try {
            SendResult sent = producer.send(Context.message(topic, "a", body));
            if (sent.getSendStatus() == SendStatus.SEND_OK) {
                synchronized (acknowledged) {
                    acknowledged.add(body);
                }
            }
            Thread.sleep(5);
        } catch (Exception unavailable) {
            // The server is down: the application's own next try is the next message.
        }
    }

    private static int count(Set<String> set) {
        synchronized (set) {
            return set.size();
        }
    }

    /** What is on disk: messages, topics, groups, offsets, and delayed messages that are due later. */
    private static Object state(Context context) throws Exception {
        String topic = context.createTopic("t", 2, 2, 6);
        context.createTopic("readonly", 3, 1, Context.READ);
        context.createGroup("closed", "consumeEnable", false);
        context.fill(topic, 0, "a", Context.bodies("m", 20));
        MessageQueue queue = context.queue(topic, 0);
        context.createGroup("g");
        context.commit(context.group("g"), queue, 13);
        Map<String, Object> before = look(context, topic);
        // Long enough for offsets to reach the disk, which happens every 5 s.
        Thread.sleep(7000);
        DefaultMQProducer producer = context.producer("p");
        Message late = Context.message(topic, "a", "late");
        late.setDelayTimeLevel(2);
        producer.send(late, context.queue(topic, 1));
        context.restartServer();
        Wait.until("the broker is back", 30, () -> context.route(topic) != null);
        context.awaitEnd(topic, 1, 1);
        Map<String, Object> after = look(context, topic);
        List<MessageExt> stored = context.readAll(topic, 1);
        Object next = Saw.result(() -> producer.send(Context.message(topic, "a", "next"), queue));
        return Json.map("before", before, "after", after, "late", Saw.messages(stored), "next", next,
            "readonly", context.route(context.topic("readonly")));
    }

    private static Map<String, Object> look(Context context, String topic) throws Exception {
        DefaultMQPullConsumer look = context.pull("g", "look" + System.nanoTime());
        DefaultMQPullConsumer closed = context.pull("closed", "closed" + System.nanoTime());
        MessageQueue queue = context.queue(topic, 0);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("messages", Saw.messages(context.readAll(topic, 0)));
        seen.put("offset", context.committed(context.group("g"), queue));
        seen.put("min", Saw.result(() -> look.minOffset(queue)));
        seen.put("max", Saw.result(() -> look.maxOffset(queue)));
        seen.put("closed group", Saw.result(() -> closed.pull(queue, "*", 0, 32)));
        seen.put("route", context.route(topic));
        return seen;
    }
}
