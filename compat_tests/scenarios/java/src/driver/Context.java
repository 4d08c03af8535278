package driver;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/** One scenario's world: names that belong to it alone, clients that are shut down at its end, and admin calls. */
final class Context implements AutoCloseable {
    static final int READ_WRITE = 6;
    static final int READ = 4;
    static final int WRITE = 2;
    static final int INHERIT = 1;

    final Setup setup;
    private final String scenario;
    private final Deque<Runnable> closing = new ArrayDeque<>();
    private final Map<MessageQueue, Long> ends = new ConcurrentHashMap<>();
    private DefaultMQPullConsumer reader;
    private DefaultMQProducer filler;

    Context(Setup setup, String scenario) {
        this.setup = setup;
        this.scenario = scenario;
    }

    String topic(String name) {
        return setup.run + "_" + scenario + "_" + name;
    }

    String group(String name) {
        return "g" + setup.run + "_" + scenario + "_" + name;
    }

    MessageQueue queue(String topic, int id) {
        return new MessageQueue(topic, "broker-a", id);
    }

    void restartServer() throws InterruptedException {
        setup.control.restart(scenario);
    }

    void configure(ClientConfig client, String name) {
        setup.configure(client, scenario + "-" + name);
    }

    // Clients. Each is started by its user, after its settings; each is its own instance with its own connection.

    DefaultMQProducer newProducer(String name, RPCHook... hook) {
        DefaultMQProducer producer = new DefaultMQProducer(group(name), hook.length > 0 ? hook[0] : null);
        configure(producer, name);
        producer.setSendMsgTimeout(15_000);
        closing.push(producer::shutdown);
        return producer;
    }

    DefaultMQProducer producer(String name, RPCHook... hook) throws Exception {
        DefaultMQProducer producer = newProducer(name, hook);
        producer.start();
        return producer;
    }

    DefaultMQPushConsumer newPush(String group, String name, RPCHook... hook) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
            group(group), hook.length > 0 ? hook[0] : null, new AllocateMessageQueueAveragely());
        configure(consumer, name);
        // By default a message that is stored between the client's two questions, for the group's offset and then
        // for the queue's end, is skipped.
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // Five seconds by default; scenarios wait for commits.
        consumer.setPersistConsumerOffsetInterval(500);
        // None by default: what a listener has just seen would then not be in the commit that a shutdown makes.
        consumer.setAwaitTerminationMillisWhenShutdown(5000);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        closing.push(consumer::shutdown);
        return consumer;
    }

    DefaultMQPullConsumer newPull(String group, String name, RPCHook... hook) {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group(group), hook.length > 0 ? hook[0] : null);
        configure(consumer, name);
        closing.push(consumer::shutdown);
        return consumer;
    }

    DefaultMQPullConsumer pull(String group, String name, RPCHook... hook) throws Exception {
        DefaultMQPullConsumer consumer = newPull(group, name, hook);
        consumer.start();
        return consumer;
    }

    DefaultLitePullConsumer newLite(String group, String name, RPCHook... hook) {
        DefaultLitePullConsumer consumer =
            new DefaultLitePullConsumer(group(group), hook.length > 0 ? hook[0] : null);
        configure(consumer, name);
        // Half a minute by default: how soon it notices queues that appeared.
        consumer.setTopicMetadataCheckIntervalMillis(1000);
        closing.push(consumer::shutdown);
        return consumer;
    }

    // Admin calls, made with the client's own API.

    MQClientAPIImpl api() {
        return setup.api();
    }

    String createTopic(String name, int queues) throws Exception {
        return createTopic(name, queues, queues, READ_WRITE);
    }

    String createTopic(String name, int readQueues, int writeQueues, int perm) throws Exception {
        String topic = topic(name);
        TopicConfig config = new TopicConfig();
        config.setTopicName(topic);
        config.setReadQueueNums(readQueues);
        config.setWriteQueueNums(writeQueues);
        config.setPerm(perm);
        updateTopic(config);
        Wait.until("route of " + topic, 10, () -> route(topic) != null);
        return topic;
    }

    void updateTopic(TopicConfig config) throws Exception {
        api().createTopic(setup.broker, "TBW102", config, 15_000);
    }

    void createGroup(String name, Object... settings) throws Exception {
        Compat.createGroup(api(), setup.broker, group(name), Json.map(settings));
    }

    /** A group's progress in a queue, asked for by somebody who is no member: members share the queues. */
    Object committed(String group, MessageQueue queue) {
        return Saw.result(() -> Compat.committed(api(), setup.broker, group, queue));
    }

    /** The same when it is what it should become, or after ten seconds: commits travel one-way. */
    Object settled(String group, MessageQueue queue, long expected) throws Exception {
        Wait.holds(10, () -> Long.valueOf(expected).equals(committed(group, queue)));
        return committed(group, queue);
    }

    void commit(String group, MessageQueue queue, long offset) throws Exception {
        Compat.commit(api(), setup.broker, group, queue, offset);
    }

    /** The route as the NameServer tells it, or null where it knows none. */
    Map<String, Object> route(String topic) throws Exception {
        return Compat.route(api(), topic);
    }

    // Messages.

    static Message message(String topic, String tags, String body) {
        return new Message(topic, tags, body.getBytes(StandardCharsets.UTF_8));
    }

    /** Sends bodies to one queue and waits until they can be read. */
    void fill(String topic, int queue, String tags, String... bodies) throws Exception {
        DefaultMQProducer producer = filler();
        for (String body : bodies) {
            producer.send(message(topic, tags, body), queue(topic, queue));
        }
        MessageQueue target = queue(topic, queue);
        awaitEnd(topic, queue, ends.merge(target, (long) bodies.length, Long::sum));
    }

    private synchronized DefaultMQProducer filler() throws Exception {
        if (filler == null) {
            filler = producer("filler");
        }
        return filler;
    }

    /** Queues are built behind the log: waits until the queue's end is at {@code offset}. */
    void awaitEnd(String topic, int queue, long offset) throws Exception {
        MessageQueue target = queue(topic, queue);
        Wait.until("end of " + target + " at " + offset, 10, () -> reader().maxOffset(target) >= offset);
    }

    synchronized DefaultMQPullConsumer reader() throws Exception {
        if (reader == null) {
            reader = pull("reader", "reader");
        }
        return reader;
    }

    /** Every message of a queue, from its beginning. */
    List<MessageExt> readAll(String topic, int queue) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        MessageQueue source = queue(topic, queue);
        long offset = reader().minOffset(source);
        long end = reader().maxOffset(source);
        while (offset < end) {
            PullResult result = reader().pull(source, "*", offset, 32);
            if (result.getPullStatus() == PullStatus.FOUND) {
                found.addAll(result.getMsgFoundList());
            }
            if (result.getNextBeginOffset() == offset) {
                break;
            }
            offset = result.getNextBeginOffset();
        }
        return found;
    }

    List<MessageExt> readQueues(String topic, Integer... queues) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        for (int queue : queues) {
            found.addAll(readAll(topic, queue));
        }
        return found;
    }

    /** Bodies "a-1", "a-2", ... */
    static String[] bodies(String prefix, int count) {
        String[] bodies = new String[count];
        Arrays.setAll(bodies, i -> String.format("%s-%03d", prefix, i + 1));
        return bodies;
    }

    /** Waits until the broker has the consumer's progress: else the next owner of a queue begins before its end. */
    void awaitCommitted(DefaultMQPushConsumer consumer, String topic) throws Exception {
        for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable()
            .keySet()) {
            Long end = ends.get(queue);
            if (queue.getTopic().equals(topic) && end != null) {
                Wait.until("committed " + end + " of " + queue, 15,
                    () -> Long.valueOf(end).equals(committed(consumer.getConsumerGroup(), queue)));
            }
        }
    }

    /** The queues that a consumer holds of a topic, by id. */
    static List<String> held(DefaultMQPushConsumer consumer, String topic) {
        Set<MessageQueue> queues = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl()
            .getProcessQueueTable().keySet();
        List<MessageQueue> mine = new ArrayList<>(queues);
        mine.removeIf(queue -> !queue.getTopic().equals(topic));
        return Saw.queues(mine);
    }

    /** Waiting for 200 clients one after the other would take minutes. */
    @Override
    public void close() {
        ExecutorService pool = Executors.newFixedThreadPool(16);
        closing.forEach(pool::execute);
        pool.shutdown();
        try {
            pool.awaitTermination(60, TimeUnit.SECONDS);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
