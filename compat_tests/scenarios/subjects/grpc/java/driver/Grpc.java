package driver;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.LitePushConsumer;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;

/** Clients of RocketMQ 5 in one scenario: they know the proxy alone; topics and groups are made at the broker. */
final class Grpc implements AutoCloseable {
    static final double PATIENCE = 60;
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();

    final Context context;
    private final Deque<Closeable> closing = new ArrayDeque<>();

    Grpc(Context context) {
        this.context = context;
    }

    /** A topic for one type of messages; null: the broker is told of none. */
    String topic(String name, String type, int queues) throws Exception {
        String topic = context.topic(name);
        TopicConfig config = new TopicConfig(topic);
        config.setReadQueueNums(queues);
        config.setWriteQueueNums(queues);
        if (type != null) {
            config.setAttributes(Map.of("+message.type", type));
        }
        context.updateTopic(config);
        Wait.until("route of " + topic, 30, () -> context.route(topic) != null);
        return topic;
    }

    /** A group with settings of its own. */
    void group(String name, Consumer<SubscriptionGroupConfig> settings) throws Exception {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(context.group(name));
        settings.accept(config);
        context.api().createSubscriptionGroup(context.setup.broker, config, 15_000);
    }

    private static ClientConfiguration configuration() {
        return ClientConfiguration.newBuilder().setEndpoints(System.getProperty("proxy.grpc")).enableSsl(false)
            .setRequestTimeout(Duration.ofSeconds(15)).build();
    }

    Producer producer(String... topics) throws Exception {
        return opened(PROVIDER.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topics).build());
    }

    Producer transactions(TransactionChecker checker, String... topics) throws Exception {
        return opened(PROVIDER.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topics)
            .setTransactionChecker(checker).build());
    }

    PushConsumer push(String group, String topic, FilterExpression filter, MessageListener listener) throws Exception {
        return opened(PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration())
            .setConsumerGroup(context.group(group)).setSubscriptionExpressions(Map.of(topic, filter))
            .setConsumptionThreadCount(4).setMessageListener(listener).build());
    }

    SimpleConsumer simple(String group, String topic, FilterExpression filter) throws Exception {
        return opened(PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration())
            .setConsumerGroup(context.group(group)).setSubscriptionExpressions(Map.of(topic, filter))
            .setAwaitDuration(Duration.ofSeconds(6)).build());
    }

    LitePushConsumer lite(String group, String topic, MessageListener listener) throws Exception {
        return opened(PROVIDER.newLitePushConsumerBuilder().setClientConfiguration(configuration())
            .setConsumerGroup(context.group(group)).bindTopic(topic).setMessageListener(listener).build());
    }

    private <T extends Closeable> T opened(T client) {
        closing.push(client);
        return client;
    }

    static FilterExpression all() {
        return FilterExpression.SUB_ALL;
    }

    static FilterExpression tag(String text) {
        return new FilterExpression(text, FilterExpressionType.TAG);
    }

    static FilterExpression sql(String text) {
        return new FilterExpression(text, FilterExpressionType.SQL92);
    }

    static MessageBuilder message(String topic, String body) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8));
    }

    static void send(Producer producer, String topic, String... bodies) throws Exception {
        for (String body : bodies) {
            Message message = message(topic, body).build();
            producer.send(message);
        }
    }

    static String text(MessageView message) {
        ByteBuffer body = message.getBody().duplicate();
        byte[] data = new byte[body.remaining()];
        body.get(data);
        return new String(data, StandardCharsets.UTF_8);
    }

    /** What an application sees of a message, but for times and ids. */
    Map<String, Object> seen(MessageView message) {
        Map<String, Object> seen = new TreeMap<>();
        seen.put("body", text(message));
        seen.put("topic", message.getTopic().replace(context.topic(""), ""));
        seen.put("tag", message.getTag().orElse(null));
        seen.put("keys", new ArrayList<>(message.getKeys()));
        seen.put("group", message.getMessageGroup().orElse(null));
        seen.put("lite", message.getLiteTopic().orElse(null));
        seen.put("properties", new TreeMap<>(message.getProperties()));
        seen.put("attempt", message.getDeliveryAttempt());
        seen.put("born", message.getBornTimestamp() > 0);
        seen.put("id", message.getMessageId().toString().length());
        return seen;
    }

    /** A listener that remembers what came, in order; those of `fails` fail. */
    static final class Seen implements MessageListener {
        private final List<MessageView> all = Collections.synchronizedList(new ArrayList<>());
        private final Predicate<MessageView> fails;

        Seen() {
            this(message -> false);
        }

        Seen(Predicate<MessageView> fails) {
            this.fails = fails;
        }

        @Override
        public ConsumeResult consume(MessageView message) {
            all.add(message);
            return fails.test(message) ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        }

        List<MessageView> all() {
            synchronized (all) {
                return new ArrayList<>(all);
            }
        }

        List<String> texts() {
            List<String> texts = new ArrayList<>();
            for (MessageView message : all()) {
                texts.add(text(message));
            }
            return texts;
        }

        List<String> sorted() {
            List<String> texts = texts();
            Collections.sort(texts);
            return texts;
        }

        void await(int count) throws Exception {
            Wait.until(count + " messages", PATIENCE, () -> all.size() >= count);
        }
    }

    @Override
    public void close() {
        closing.forEach(client -> {
            try {
                client.close();
            } catch (Exception end) {
                // It leaves anyway.
                end.printStackTrace();
            }
        });
    }
}
