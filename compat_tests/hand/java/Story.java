import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListener;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;
import trimq.TriMQExtension;

/** What the stories share: a server, a topic and a group for each, and clients that leave at its end. */
abstract class Story {
    @RegisterExtension
    static final TriMQExtension rocketmq =
        new TriMQExtension("mappedFileSizeCommitLog=65536", "recallMessageEnable=true");

    final BlockingQueue<MessageExt> got = new LinkedBlockingQueue<>();
    private final Deque<Runnable> leaving = new ArrayDeque<>();
    String topic;
    String group;
    private DefaultMQProducer setup;
    private long began;

    @BeforeEach
    void prepare(TestInfo info) throws Exception {
        topic = info.getTestMethod().orElseThrow().getName();
        group = topic + "Group";
        setup = producer(new DefaultMQProducer("setup"));
        createTopic(topic);
        // Without it, a consumer learns of its retry topic when it next asks for routes, half a minute later.
        createTopic("%RETRY%" + group);
    }

    @AfterEach
    void leave() throws InterruptedException {
        System.out.printf("STORY %s %d ms%n", topic, (System.nanoTime() - began) / 1_000_000);
        // Each of them waits for its own threads.
        List<Thread> threads = leaving.stream().map(Thread::new).collect(Collectors.toList());
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** From here on, it is the story: clients are there. */
    void begin() {
        began = System.nanoTime();
    }

    void createTopic(String name) throws Exception {
        setup.createTopic("TBW102", name, 1, Map.of());
    }

    <T extends ClientConfig> T configured(T client) {
        client.setNamesrvAddr(rocketmq.namesrvAddr());
        return client;
    }

    <T extends DefaultMQProducer> T producer(T producer) throws Exception {
        configured(producer).start();
        leaving.push(producer::shutdown);
        return producer;
    }

    DefaultMQPushConsumer consumer(MessageListener listener) throws Exception {
        DefaultMQPushConsumer consumer = configured(new DefaultMQPushConsumer(group));
        consumer.setMessageListener(listener);
        // After a broken connection, a consumer pulls again in three seconds.
        consumer.getDefaultMQPushConsumerImpl().setPullTimeDelayMillsWhenException(50);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        leaving.push(consumer::shutdown);
        return consumer;
    }

    /** With queues: it pulls. */
    DefaultMQPushConsumer started(MessageListener listener) throws Exception {
        DefaultMQPushConsumer consumer = consumer(listener);
        consumer.start();
        rocketmq.until(() -> holds(consumer));
        return consumer;
    }

    boolean holds(DefaultMQPushConsumer consumer) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
            .anyMatch(queue -> queue.getTopic().equals(topic));
    }

    /** Takes all messages, and puts them into `got` when `each` has seen them. */
    MessageListenerConcurrently taking(Consumer<MessageExt> each) {
        return (messages, context) -> {
            messages.forEach(each);
            got.addAll(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        };
    }

    MessageExt next() throws InterruptedException {
        return got.poll(5, TimeUnit.SECONDS);
    }

    Message message(String body) {
        return new Message(topic, body.getBytes(UTF_8));
    }

    static String text(MessageExt message) {
        return new String(message.getBody(), UTF_8);
    }
}
