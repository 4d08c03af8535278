package driver;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Orderly consumption: one owner per queue, order kept over suspension, departure and death of the owner. */
final class Ordering {
    private Ordering() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("order_selector", Ordering::selector);
        scenarios.put("order_suspend", Ordering::suspend);
        scenarios.put("order_dead_letters", Ordering::deadLetters);
        scenarios.put("order_hand_over", Ordering::handOver);
        scenarios.put("order_owner_dies", Ordering::ownerDies);
        scenarios.put("order_locks", Ordering::locks);
    }

    /** Remembers, per queue, what was consumed in which order; suspends where the predicate says so. */
    private static final class Orderly implements MessageListenerOrderly {
        private final Map<String, List<String>> log = new TreeMap<>();
        private final Predicate<MessageExt> suspends;

        Orderly(Predicate<MessageExt> suspends) {
            this.suspends = suspends;
        }

        @Override
        public ConsumeOrderlyStatus consumeMessage(List<MessageExt> messages, ConsumeOrderlyContext context) {
            MessageExt message = messages.get(0);
            boolean again = suspends.test(message);
            synchronized (this) {
                log.computeIfAbsent(String.valueOf(message.getQueueId()), queue -> new ArrayList<>())
                    .add(Saw.text(message) + " x" + message.getReconsumeTimes() + (again ? " suspended" : ""));
            }
            context.setSuspendCurrentQueueTimeMillis(100);
            return again ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT : ConsumeOrderlyStatus.SUCCESS;
        }

        synchronized int size() {
            return log.values().stream().mapToInt(List::size).sum();
        }

        synchronized Map<String, List<String>> log() {
            Map<String, List<String>> copy = new TreeMap<>();
            log.forEach((queue, entries) -> copy.put(queue, new ArrayList<>(entries)));
            return copy;
        }

        void await(int count, double seconds) throws Exception {
            Wait.until(count + " messages, not " + size(), seconds, () -> size() >= count);
        }
    }

    private static DefaultMQPushConsumer join(Context context, String name, String topic, Orderly listener)
        throws Exception {
        return Pushing.start(context.newPush("g", name), topic, listener);
    }

    private static Object selector(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        DefaultMQProducer producer = context.producer("p");
        for (int step = 0; step < 5; step++) {
            for (int order = 0; order < 6; order++) {
                producer.send(Context.message(topic, "step" + step, "order-" + order + "-step-" + step),
                    (queues, message, arg) -> queues.get((Integer) arg % queues.size()), order);
            }
        }
        Orderly listener = new Orderly(message -> false);
        DefaultMQPushConsumer consumer = join(context, "c", topic, listener);
        listener.await(30, 30);
        return Json.map("held", Context.held(consumer, topic), "log", listener.log());
    }

    private static Object suspend(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        context.fill(topic, 0, "a", Context.bodies("m", 5));
        context.fill(topic, 1, "a", Context.bodies("n", 5));
        Orderly listener = new Orderly(
            message -> Saw.text(message).endsWith("-003") && message.getReconsumeTimes() < 3);
        DefaultMQPushConsumer consumer = join(context, "c", topic, listener);
        listener.await(16, 30);
        consumer.shutdown();
        return Json.map("log", listener.log(),
            "committed 0", context.settled(context.group("g"), context.queue(topic, 0), 5),
            "committed 1", context.settled(context.group("g"), context.queue(topic, 1), 5));
    }

    /** Suspended once too often: the client sends the message back and the broker puts it to the dead letters. */
    private static Object deadLetters(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        context.fill(topic, 0, "a", Context.bodies("m", 3));
        Orderly listener = new Orderly(message -> Saw.text(message).equals("m-002"));
        DefaultMQPushConsumer consumer = context.newPush("g", "c");
        consumer.setMaxReconsumeTimes(2);
        Pushing.start(consumer, topic, listener);
        listener.await(5, 30);
        String dead = "%DLQ%" + context.group("g");
        boolean arrived = Wait.holds(15, () -> context.route(dead) != null);
        Map<String, Object> route = context.route(dead);
        if (arrived) {
            Retrying.makeReadable(context, dead);
            Wait.holds(10, () -> context.reader().maxOffset(context.queue(dead, 0)) > 0);
        }
        return Json.map("log", listener.log(), "route", route,
            "dead", arrived ? Saw.messages(context.readAll(dead, 0)) : null);
    }

    /** The owner leaves with a word: its locks are free at once. */
    private static Object handOver(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Orderly one = new Orderly(message -> false);
        Orderly two = new Orderly(message -> false);
        DefaultMQPushConsumer first = join(context, "c1", topic, one);
        Pushing.awaitHeld(topic, 4, first);
        DefaultMQPushConsumer second = join(context, "c2", topic, two);
        Pushing.awaitHeld(topic, 2, first, second);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("shared", Json.map("first", Context.held(first, topic), "second", Context.held(second, topic)));
        fill(context, topic, "both");
        one.await(6, 40);
        two.await(6, 40);
        context.awaitCommitted(first, topic);
        context.awaitCommitted(second, topic);
        seen.put("log of both", Json.map("first", one.log(), "second", two.log()));
        first.shutdown();
        Pushing.awaitHeld(topic, 4, second);
        fill(context, topic, "alone");
        two.await(18, 40);
        seen.put("log of second", two.log());
        return seen;
    }

    private static void fill(Context context, String topic, String prefix) throws Exception {
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, "a", Context.bodies(prefix, 3));
        }
    }

    /**
     * The owner's connection breaks: nobody unlocks, so its queues rest until the locks are 60 s old.
     *
     * <p>The owner renewed them at most 20 s before it died (lockMQPeriodically).
     */
    private static Object ownerDies(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Orderly one = new Orderly(message -> false);
        Orderly two = new Orderly(message -> false);
        DefaultMQPushConsumer first = join(context, "c1", topic, one);
        Pushing.awaitHeld(topic, 4, first);
        DefaultMQPushConsumer second = join(context, "c2", topic, two);
        Pushing.awaitHeld(topic, 2, first, second);
        Wait.aWhile();
        first.getDefaultMQPushConsumerImpl().getmQClientFactory().getMQClientAPIImpl().getRemotingClient().shutdown();
        long died = System.nanoTime();
        fill(context, topic, "late");
        two.await(6, 20);
        boolean early = Wait.holds(30, () -> Context.held(second, topic).size() > 2);
        boolean handedOver = Wait.holds(50, () -> Context.held(second, topic).size() == 4);
        if (handedOver) {
            two.await(12, 20);
        }
        return Json.map("early", early, "handed over", handedOver, "log of second", two.log(),
            "log of first", one.log(), "took its time", (System.nanoTime() - died) / 1e9 > 35);
    }

    /** LOCK_BATCH_MQ and UNLOCK_BATCH_MQ as such. */
    private static Object locks(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Map<String, Object> seen = new TreeMap<>();
        Set<MessageQueue> left = queues(context, topic, 0, 1);
        Set<MessageQueue> middle = queues(context, topic, 1, 2);
        Set<MessageQueue> odd = Set.of(context.queue(topic, 77), context.queue(context.topic("none"), 0));
        seen.put("1 A locks 0 1", lock(context, "A", left));
        seen.put("2 B locks 1 2", lock(context, "B", middle));
        seen.put("3 A renews 0 1", lock(context, "A", left));
        unlock(context, "B", left);
        seen.put("4 B unlocked what is A's, and locks", lock(context, "B", left));
        unlock(context, "A", left);
        seen.put("5 A unlocked, B locks", lock(context, "B", left));
        seen.put("6 queues that are none", lock(context, "A", odd));
        seen.put("7 nothing", lock(context, "A", Set.of()));
        seen.put("8 another group", Compat.lock(context.api(), context.setup.broker, context.group("other"), "A", left));
        return seen;
    }

    private static Set<MessageQueue> queues(Context context, String topic, int... ids) {
        Set<MessageQueue> queues = new HashSet<>();
        for (int id : ids) {
            queues.add(context.queue(topic, id));
        }
        return queues;
    }

    private static Object lock(Context context, String client, Set<MessageQueue> queues) throws Exception {
        return Compat.lock(context.api(), context.setup.broker, context.group("g"), client, queues);
    }

    private static void unlock(Context context, String client, Set<MessageQueue> queues) throws Exception {
        Compat.unlock(context.api(), context.setup.broker, context.group("g"), client, queues);
    }
}
