package driver;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
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

/**
 * Order from end to end, global (one queue) and by key: members that come and go, crash and are slow, a broker that
 * is killed, messages that are suspended too often.
 */
final class OrderScenarios {
    private static final double CHURN_SECONDS = Double.parseDouble(System.getProperty("order.seconds", "60"));
    private static final int QUEUES = 8;
    private static final int MEMBERS = 10;
    /** What the listener of the slow one takes: the global queue gets more than that allows. */
    private static final long SLOW_MILLIS = 150;
    private static final int LIMIT = 3;

    private OrderScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("order_joining_and_leaving", OrderScenarios::joiningAndLeaving);
        scenarios.put("order_member_killed", OrderScenarios::memberKilled);
        scenarios.put("order_leaving_frees", OrderScenarios::leavingFrees);
        scenarios.put("order_limit", OrderScenarios::limit);
        // A restart is asked for by scenarios that are called so (Control).
        scenarios.put("restart_order", OrderScenarios::brokerKilled);
    }

    /** A scenario's two topics, its ledger and its producer. */
    private static final class World {
        final Context context;
        final String global;
        final String keyed;
        final Ledger ledger = new Ledger();

        World(Context context) throws Exception {
            this.context = context;
            global = context.createTopic("global", 1);
            keyed = context.createTopic("keyed", QUEUES);
            context.createGroup("g");
        }

        DefaultMQPushConsumer join(String who, long millis) throws Exception {
            MessageListenerOrderly listener = (messages, how) -> consume(who, messages, millis);
            DefaultMQPushConsumer consumer = Member.orderly(context, who, listener, global, keyed);
            consumer.start();
            return consumer;
        }

        private ConsumeOrderlyStatus consume(String who, List<MessageExt> messages, long millis) {
            for (MessageExt message : messages) {
                String queue = queue(message.getTopic(), message.getQueueId());
                ledger.begins(who, queue, message.getQueueOffset(), Saw.text(message));
                try {
                    Thread.sleep(millis);
                } catch (InterruptedException end) {
                    Thread.currentThread().interrupt();
                } finally {
                    ledger.ends(who, queue);
                }
            }
            return ConsumeOrderlyStatus.SUCCESS;
        }

        static String queue(String topic, int id) {
            return topic + "/" + id;
        }

        Feed feed(long pauseMillis) throws Exception {
            DefaultMQProducer producer = context.newProducer("p");
            producer.setSendMsgTimeout(2000);
            producer.start();
            return new Feed(producer, ledger, global, keyed, pauseMillis).begin();
        }

        /** When everything that was sent was given to somebody, or after so many seconds. */
        Map<String, Object> verdict(String scenario, double seconds) throws Exception {
            boolean complete = Wait.holds(seconds, ledger::isComplete);
            ledger.tell(scenario);
            Map<String, Object> seen = ledger.verdict();
            seen.put("complete", complete);
            return seen;
        }
    }

    /** Ten members, of which one is slow and stays, the others come and go all the time. */
    private static Object joiningAndLeaving(Context context) throws Exception {
        World world = new World(context);
        // In the middle by name: the global queue belongs to the first, so now to this one, now to another.
        world.join("c5", SLOW_MILLIS);
        Map<Integer, DefaultMQPushConsumer> present = new TreeMap<>();
        Map<Integer, String> names = new TreeMap<>();
        Random chance = new Random(16);
        int joined = 0;
        long end = System.nanoTime() + (long) (CHURN_SECONDS * 1e9);
        try (Feed feed = world.feed(40)) {
            while (System.nanoTime() < end) {
                int slot = 1 + chance.nextInt(MEMBERS - 1);
                DefaultMQPushConsumer leaving = present.remove(slot);
                if (leaving != null) {
                    world.ledger.leaves(names.get(slot));
                    leaving.shutdown();
                } else {
                    // A new name each time, as clients have.
                    names.put(slot, "c" + chance.nextInt(10) + "-" + slot + "-" + ++joined);
                    present.put(slot, world.join(names.get(slot), 0));
                }
                Thread.sleep(900);
            }
        }
        // Who has left in the middle of taking up a queue has left its lock behind.
        Map<String, Object> seen = world.verdict(context.group("g"), Ledger.EXPIRY_SECONDS + 30);
        seen.put("two members at work on one queue", world.ledger.together());
        return seen;
    }

    /** A member's process is killed: nobody unlocks, so its queues rest until its locks are 60 s old. */
    private static Object memberKilled(Context context) throws Exception {
        World world = new World(context);
        List<String> atOnce;
        boolean over;
        // The first by name has the global queue.
        try (Member member = Member.start(
            context, "order_member_killed", "a", world.ledger, world.global, world.keyed);
            Feed feed = world.feed(50)) {
            String global = World.queue(world.global, 0);
            Wait.until("the first member has the global queue", 60, () -> world.ledger.isOwner("a", global));
            world.join("b", 0);
            Wait.until("the second one has its share", 60,
                () -> world.ledger.isOwner("b", World.queue(world.keyed, QUEUES - 1))
                    && world.ledger.hasQueues(1 + QUEUES));
            member.kill();
            atOnce = Compat.lock(context.api(), context.setup.broker, context.group("g"), "stranger",
                Set.of(context.queue(world.global, 0)));
            over = Wait.holds(Ledger.EXPIRY_SECONDS + 20, () -> world.ledger.ownsAll("b"));
        }
        Map<String, Object> seen = world.verdict(context.group("g"), 30);
        seen.put("a stranger locks the queue of the dead at once", atOnce);
        seen.put("all queues are the other's", over);
        seen.put("two members at work on one queue", world.ledger.together());
        return seen;
    }

    /** Whoever leaves with a word has no lock any more when its shutdown returns. */
    private static Object leavingFrees(Context context) throws Exception {
        World world = new World(context);
        DefaultMQPushConsumer consumer = world.join("c", 0);
        Map<String, Object> seen = new TreeMap<>();
        try (Feed feed = world.feed(20)) {
            Wait.until("it consumes all queues", 40, () -> world.ledger.hasQueues(1 + QUEUES));
            seen.put("1 a stranger locks what is consumed", stranger(world));
            consumer.shutdown();
        }
        seen.put("2 and what was left", stranger(world));
        return seen;
    }

    private static List<String> stranger(World world) throws Exception {
        Context context = world.context;
        Set<MessageQueue> queues = new HashSet<>();
        queues.add(context.queue(world.global, 0));
        for (int id = 0; id < QUEUES; id++) {
            queues.add(context.queue(world.keyed, id));
        }
        return Compat.lock(context.api(), context.setup.broker, context.group("g"), "stranger", queues);
    }

    /**
     * One message of the global queue, and one of two queues by key, fails for ever: it is given as often as the limit
     * says and goes to the dead letters; what is behind it waits, and comes in order. A hand-over counts from zero.
     */
    private static Object limit(Context context) throws Exception {
        String global = context.createTopic("global", 1);
        String keyed = context.createTopic("keyed", 2);
        context.fill(global, 0, "a", Context.bodies("g", 4));
        context.fill(keyed, 0, "a", Context.bodies("m", 4));
        context.fill(keyed, 1, "a", Context.bodies("n", 4));
        Predicate<MessageExt> fails = message -> Set.of("g-002", "n-003").contains(Saw.text(message));
        Given one = new Given(fails);
        DefaultMQPushConsumer first = join(context, "c1", one, 1000, global, keyed);
        Wait.until("both queues are suspended", 40, () -> one.times("g-002") > 2 && one.times("n-003") > 2);
        first.shutdown();
        Given two = new Given(fails);
        join(context, "c2", two, LIMIT, global, keyed);
        String dead = "%DLQ%" + context.group("g");
        Wait.until("everything is given", 40, () -> two.times("g-004") > 0 && two.times("n-004") > 0);
        Wait.until("dead letters", 20, () -> context.route(dead) != null);
        Retrying.makeReadable(context, dead);
        Wait.until("two of them", 10, () -> context.reader().maxOffset(context.queue(dead, 0)) == 2);
        List<MessageExt> letters = context.readAll(dead, 0);
        // Where each lies among them is chance.
        letters.sort((left, right) -> Saw.text(left).compareTo(Saw.text(right)));
        List<Object> texts = new ArrayList<>();
        // Where each lies among them is chance.
        letters.forEach(letter -> texts.add(Json.map("body", Saw.text(letter),
            "times", letter.getReconsumeTimes(), "properties", new TreeMap<>(letter.getProperties()))));
        // How often the first one was given them before it left is chance.
        return Json.map("first", one.log(4), "second", two.log(100), "dead letters", texts,
            "committed", List.of(
                context.settled(context.group("g"), context.queue(global, 0), 4),
                context.settled(context.group("g"), context.queue(keyed, 0), 4),
                context.settled(context.group("g"), context.queue(keyed, 1), 4)));
    }

    private static DefaultMQPushConsumer join(
        Context context, String who, Given given, int limit, String... topics) throws Exception {
        DefaultMQPushConsumer consumer = Member.orderly(context, who, given, topics);
        consumer.setMaxReconsumeTimes(limit);
        consumer.start();
        return consumer;
    }

    /** What a listener was given, by queue; what fails is suspended for a moment. */
    private static final class Given implements MessageListenerOrderly {
        private final Map<String, List<String>> log = new TreeMap<>();
        private final Map<String, Integer> times = new TreeMap<>();
        private final Predicate<MessageExt> fails;

        Given(Predicate<MessageExt> fails) {
            this.fails = fails;
        }

        @Override
        public synchronized ConsumeOrderlyStatus consumeMessage(List<MessageExt> messages, ConsumeOrderlyContext how) {
            MessageExt message = messages.get(0);
            String queue = World.queue(message.getTopic(), message.getQueueId());
            String text = Saw.text(message);
            times.merge(text, 1, Integer::sum);
            log.computeIfAbsent(queue, key -> new ArrayList<>()).add(text + " x" + message.getReconsumeTimes());
            how.setSuspendCurrentQueueTimeMillis(100);
            return fails.test(message) ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
                : ConsumeOrderlyStatus.SUCCESS;
        }

        synchronized int times(String text) {
            return times.getOrDefault(text, 0);
        }

        /** By queue so many entries, from the first on. */
        synchronized Map<String, List<String>> log(int most) {
            Map<String, List<String>> copy = new TreeMap<>();
            log.forEach((queue, given) -> copy.put(
                queue, List.copyOf(given.subList(0, Math.min(most, given.size())))));
            return copy;
        }

    }

    /** The broker is killed under two members and comes back: locks are gone, order is not. */
    private static Object brokerKilled(Context context) throws Exception {
        World world = new World(context);
        world.join("a", 5);
        world.join("b", 5);
        try (Feed feed = world.feed(20)) {
            Wait.until("all queues are consumed", 60,
                () -> world.ledger.hasQueues(1 + QUEUES) && world.ledger.size() > 150);
            context.restartServer();
            int before = world.ledger.size();
            Wait.until("it goes on", 90, () -> world.ledger.size() > before + 150);
        }
        return world.verdict(context.group("g"), Ledger.EXPIRY_SECONDS + 30);
    }
}
