package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.MessageListener;

/** Push consumers in clustering and broadcasting mode, coming and going. */
final class Pushing {
    private Pushing() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("push_joining_and_leaving", Pushing::joiningAndLeaving);
        scenarios.put("push_messages", Pushing::messages);
        scenarios.put("push_broadcasting", Pushing::broadcasting);
        scenarios.put("push_while_sending", Pushing::whileSending);
        scenarios.put("push_crash", Pushing::crash);
    }

    static DefaultMQPushConsumer start(DefaultMQPushConsumer consumer, String topic, MessageListener inbox)
        throws Exception {
        consumer.subscribe(topic, "*");
        consumer.setMessageListener(inbox);
        consumer.start();
        return consumer;
    }

    private static DefaultMQPushConsumer join(Context context, String name, String topic, Inbox inbox)
        throws Exception {
        return start(context.newPush("g", name), topic, inbox);
    }

    static void awaitHeld(String topic, int count, DefaultMQPushConsumer... consumers) throws Exception {
        for (DefaultMQPushConsumer consumer : consumers) {
            Wait.until(consumer.getInstanceName() + " holds " + count + " queues, not "
                + Context.held(consumer, topic), 30, () -> Context.held(consumer, topic).size() == count);
        }
    }

    /**
     * Waits until so many messages came to each, and reminds the broker of the consumers' subscriptions meanwhile.
     *
     * <p>A client whose queues have changed tells the broker so, but not if another heartbeat of its own is just
     * under way. Until the subscriptions are told again, its pulls are refused: for ever where the heartbeats that
     * follow are far apart or are mere fingerprints.
     */
    static void awaitServed(int count, List<Inbox> inboxes, DefaultMQPushConsumer... consumers) throws Exception {
        // A refused pull is tried again after three seconds.
        for (int turn = 0; turn < 10; turn++) {
            if (Wait.holds(5, () -> inboxes.stream().allMatch(inbox -> inbox.size() >= count))) {
                return;
            }
            for (DefaultMQPushConsumer consumer : consumers) {
                Compat.tellSubscriptions(consumer);
            }
        }
        throw new AssertionError("not " + count + " messages for each of " + inboxes.size() + " consumers");
    }

    private static void send(Context context, String topic, String prefix) throws Exception {
        for (int queue = 0; queue < 8; queue++) {
            context.fill(topic, queue, "a", Context.bodies(prefix + queue, 5));
        }
    }

    /** Each stage: the allocation, then what each member consumed of the messages sent in that stage. */
    private static Object joiningAndLeaving(Context context) throws Exception {
        String topic = context.createTopic("t", 8);
        Map<String, Object> seen = new TreeMap<>();
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        Inbox three = new Inbox();
        DefaultMQPushConsumer first = join(context, "c1", topic, one);
        awaitHeld(topic, 8, first);
        send(context, topic, "alone-");
        one.await(40, 20);
        context.awaitCommitted(first, topic);
        seen.put("1 alone", Json.map("first", Context.held(first, topic), "consumed", one.byQueue()));
        DefaultMQPushConsumer second = join(context, "c2", topic, two);
        awaitHeld(topic, 4, first, second);
        seen.put("2 ids", context.api().getConsumerIdListByGroup(context.setup.broker, context.group("g"), 15_000)
            .stream().sorted().toArray());
        send(context, topic, "both-");
        one.await(60, 20);
        two.await(20, 20);
        context.awaitCommitted(first, topic);
        context.awaitCommitted(second, topic);
        seen.put("2 second joined", Json.map("first", Context.held(first, topic), "second",
            Context.held(second, topic), "consumed by first", one.byQueue(), "consumed by second", two.byQueue()));
        DefaultMQPushConsumer third = join(context, "c3", topic, three);
        Wait.until("8 queues shared by three", 30, () -> Context.held(first, topic).size() == 3
            && Context.held(second, topic).size() == 3 && Context.held(third, topic).size() == 2);
        first.shutdown();
        awaitHeld(topic, 4, second, third);
        send(context, topic, "others-");
        two.await(40, 20);
        three.await(20, 20);
        Wait.aWhile();
        seen.put("3 first left", Json.map("second", Context.held(second, topic), "third",
            Context.held(third, topic), "consumed by second", two.byQueue(), "consumed by third", three.byQueue()));
        seen.put("4 in all", one.size() + two.size() + three.size());
        return seen;
    }

    /** Every field of a message as a listener gets it. */
    private static Object messages(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        context.fill(topic, 0, "a", "x", "y");
        context.fill(topic, 1, "b", "z");
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = start(context.newPush("g", "c"), topic, inbox);
        inbox.await(3, 20);
        consumer.shutdown();
        // Where the group stands afterwards: a shutdown commits.
        List<Object> offsets = List.of(
            context.settled(context.group("g"), context.queue(topic, 0), 2),
            context.settled(context.group("g"), context.queue(topic, 1), 1));
        return Json.map("consumed", Saw.messages(inbox.all()), "committed", offsets);
    }

    private static Object broadcasting(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Map<String, Object> seen = new TreeMap<>();
        List<Inbox> inboxes = List.of(new Inbox(), new Inbox(), new Inbox());
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            DefaultMQPushConsumer consumer = context.newPush("g", "c" + i);
            Compat.broadcasting(consumer);
            consumers.add(start(consumer, topic, inboxes.get(i)));
        }
        awaitHeld(topic, 4, consumers.toArray(new DefaultMQPushConsumer[0]));
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, "a", Context.bodies("q" + queue, 3));
        }
        for (int i = 0; i < 2; i++) {
            inboxes.get(i).await(12, 20);
            seen.put("member " + i, Json.map("held", Context.held(consumers.get(i), topic),
                "consumed", inboxes.get(i).byQueue()));
        }
        seen.put("retry topic", context.route("%RETRY%" + context.group("g")));
        context.createGroup("forbidden", "consumeBroadcastEnable", false);
        DefaultMQPushConsumer forbidden = context.newPush("forbidden", "c9");
        Compat.broadcasting(forbidden);
        start(forbidden, topic, inboxes.get(2));
        Wait.aWhile();
        seen.put("group that must not broadcast", inboxes.get(2).texts());
        return seen;
    }

    /** Sent while two members consume and a third comes and goes: everything is consumed. */
    private static Object whileSending(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        List<Inbox> inboxes = List.of(new Inbox(), new Inbox(), new Inbox());
        DefaultMQPushConsumer first = join(context, "c1", topic, inboxes.get(0));
        DefaultMQPushConsumer second = join(context, "c2", topic, inboxes.get(1));
        awaitHeld(topic, 2, first, second);
        DefaultMQPushConsumer third = null;
        for (int round = 0; round < 20; round++) {
            for (int queue = 0; queue < 4; queue++) {
                context.fill(topic, queue, "a", Context.bodies("r" + round + "-q" + queue, 5));
            }
            if (round == 5) {
                third = join(context, "c3", topic, inboxes.get(2));
            } else if (round == 15) {
                third.shutdown();
            }
        }
        awaitHeld(topic, 2, first, second);
        Wait.holds(20, () -> distinct(inboxes) == 400);
        return Json.map("distinct", distinct(inboxes));
    }

    private static long distinct(List<Inbox> inboxes) {
        return inboxes.stream().flatMap(inbox -> inbox.texts().stream()).distinct().count();
    }

    /** A member's connection breaks without a word: the others take over its queues. */
    private static Object crash(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        DefaultMQPushConsumer first = join(context, "c1", topic, one);
        DefaultMQPushConsumer second = join(context, "c2", topic, two);
        awaitHeld(topic, 2, first, second);
        first.getDefaultMQPushConsumerImpl().getmQClientFactory().getMQClientAPIImpl().getRemotingClient().shutdown();
        awaitHeld(topic, 4, second);
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, "a", Context.bodies("q" + queue, 2));
        }
        two.await(8, 20);
        return Json.map("held", Context.held(second, topic), "consumed by second", two.byQueue(),
            "consumed by first", one.byQueue(),
            "ids", context.api().getConsumerIdListByGroup(context.setup.broker, context.group("g"), 15_000).size());
    }
}
