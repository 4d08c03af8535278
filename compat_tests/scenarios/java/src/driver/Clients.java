package driver;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** What the broker knows of its clients: heartbeats, groups, members; and the requests that a client's life consists of. */
final class Clients {
    private static final int PULL_MESSAGE = 11;
    private static final int NOTIFY_CONSUMER_IDS_CHANGED = 40;
    private static final int LOCK_BATCH_MQ = 41;

    private Clients() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("client_requests", Clients::requests);
        scenarios.put("client_members", Clients::members);
        scenarios.put("client_fingerprints", Clients::fingerprints);
        scenarios.put("client_topics", Clients::topics);
    }

    private static Object requests(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Map<String, Object> seen = new TreeMap<>();
        Watch producing = new Watch();
        DefaultMQProducer producer = context.producer("p", producing);
        producer.send(Context.message(topic, "a", "x"), context.queue(topic, 0));
        context.awaitEnd(topic, 0, 1);
        producing.awaitHeartbeatAnd();
        producer.shutdown();
        seen.put("producer", producing.codes());
        Watch consuming = new Watch();
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = Pushing.start(context.newPush("g", "c", consuming), topic, inbox);
        inbox.await(1, 20);
        consuming.awaitHeartbeatAnd(NOTIFY_CONSUMER_IDS_CHANGED);
        consumer.shutdown();
        seen.put("push consumer", consuming.codes());
        Watch ordered = new Watch();
        DefaultMQPushConsumer orderly = context.newPush("o", "o", ordered);
        orderly.subscribe(topic, "*");
        orderly.registerMessageListener((org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly)
            (messages, answer) -> org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus.SUCCESS);
        orderly.start();
        Pushing.awaitHeld(topic, 2, orderly);
        ordered.awaitHeartbeatAnd(PULL_MESSAGE, LOCK_BATCH_MQ, NOTIFY_CONSUMER_IDS_CHANGED);
        orderly.shutdown();
        seen.put("orderly consumer", ordered.codes());
        Watch pulling = new Watch();
        DefaultMQPullConsumer pull = context.pull("h", "h", pulling);
        pull.pull(context.queue(topic, 0), "*", 0, 32);
        pull.maxOffset(context.queue(topic, 0));
        pull.minOffset(context.queue(topic, 0));
        pull.searchOffset(context.queue(topic, 0), 0);
        pull.earliestMsgStoreTime(context.queue(topic, 0));
        pull.fetchConsumeOffset(context.queue(topic, 0), true);
        pulling.awaitHeartbeatAnd(NOTIFY_CONSUMER_IDS_CHANGED);
        pull.shutdown();
        seen.put("pull consumer", pulling.codes());
        return seen;
    }

    private static Object ids(Context context, String group) {
        return Saw.result(() -> context.api().getConsumerIdListByGroup(context.setup.broker, group, 15_000)
            .stream().sorted().toArray());
    }

    private static Object members(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        String group = context.group("g");
        Map<String, Object> seen = new TreeMap<>();
        seen.put("1 nobody", ids(context, group));
        seen.put("1 retry topic", context.route("%RETRY%" + group));
        DefaultMQPushConsumer first = Pushing.start(context.newPush("g", "c1"), topic, new Inbox());
        Pushing.awaitHeld(topic, 2, first);
        seen.put("2 one", ids(context, group));
        Wait.until("route of the retry topic", 10, () -> context.route("%RETRY%" + group) != null);
        seen.put("2 retry topic", context.route("%RETRY%" + group));
        DefaultLitePullConsumer second = context.newLite("g", "c2");
        second.subscribe(topic, "*");
        second.start();
        Pushing.awaitHeld(topic, 1, first);
        seen.put("3 two", ids(context, group));
        first.shutdown();
        Wait.until("second alone", 20, () -> second.assignment().size() == 2);
        seen.put("4 second", ids(context, group));
        second.shutdown();
        seen.put("5 nobody again", ids(context, group));
        seen.put("6 empty name", ids(context, ""));
        return seen;
    }

    /** 5.x's heartbeat by fingerprint: the broker may know the subscriptions already. */
    private static Object fingerprints(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Watch watch = new Watch();
        Watch other = new Watch();
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        DefaultMQPushConsumer first = context.newPush("g", "c1", watch);
        DefaultMQPushConsumer second = context.newPush("g", "c2", other);
        boolean able = Compat.fingerprintHeartbeats(first) && Compat.fingerprintHeartbeats(second);
        Pushing.start(first, topic, one);
        Pushing.awaitHeld(topic, 4, first);
        Pushing.start(second, topic, two);
        Pushing.awaitHeld(topic, 2, first, second);
        fillFour(context, topic, "early");
        Pushing.awaitServed(4, List.of(one, two), first, second);
        // Nobody's queues change any more, so the heartbeats that follow are fingerprints where the client has them.
        watch.awaitTwoHeartbeats(able);
        other.awaitTwoHeartbeats(able);
        fillFour(context, topic, "late");
        one.await(8, 20);
        two.await(8, 20);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("first", one.byQueue());
        seen.put("second", two.byQueue());
        seen.put("ids", ids(context, context.group("g")));
        context.awaitCommitted(first, topic);
        context.awaitCommitted(second, topic);
        watch.awaitHeartbeatAnd(NOTIFY_CONSUMER_IDS_CHANGED);
        second.shutdown();
        Pushing.awaitHeld(topic, 4, first);
        seen.put("codes", watch.codes());
        return seen;
    }

    private static void fillFour(Context context, String topic, String when) throws Exception {
        for (int queue = 0; queue < 4; queue++) {
            context.fill(topic, queue, "a", Context.bodies(when + "-q" + queue, 2));
        }
    }

    /** Topics made through the client, and how they change while clients use them. */
    private static Object topics(Context context) throws Exception {
        Map<String, Object> seen = new TreeMap<>();
        String topic = context.topic("made");
        DefaultMQProducer producer = context.producer("p");
        seen.put("1 made", Saw.result(() -> {
            Compat.createTopic(producer, "TBW102", topic, 3);
            return "made";
        }));
        Wait.until("route", 10, () -> context.route(topic) != null);
        seen.put("1 route", context.route(topic));
        for (String bad : new String[] {"a b", "TBW102", "SCHEDULE_TOPIC_XXXX", "t".repeat(128), "DefaultCluster"}) {
            seen.put("2 making '" + bad + "'", Saw.result(() -> {
                Compat.createTopic(producer, "TBW102", bad, 3);
                return "made";
            }));
        }
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = Pushing.start(context.newPush("g", "c"), topic, inbox);
        Pushing.awaitHeld(topic, 3, consumer);
        context.createTopic("made", 5);
        Pushing.awaitHeld(topic, 5, consumer);
        Wait.until("producer sees five", 10, () -> producer.fetchPublishMessageQueues(topic).size() == 5);
        seen.put("3 widened", Json.map("held", Context.held(consumer, topic), "route", context.route(topic)));
        context.fill(topic, 4, "a", "to the new queue");
        inbox.await(1, 20);
        seen.put("3 consumed", inbox.byQueue());
        context.createTopic("made", 1, 1, Context.READ);
        Wait.until("producer sees none", 10, () -> fails(producer, topic));
        seen.put("4 read only", Saw.result(() -> producer.fetchPublishMessageQueues(topic)));
        seen.put("4 route", context.route(topic));
        return seen;
    }

    private static boolean fails(DefaultMQProducer producer, String topic) {
        try {
            return producer.fetchPublishMessageQueues(topic).isEmpty();
        } catch (Exception expected) {
            return true;
        }
    }
}
