import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;
import trimq.TriMQExtension;

/**
 * Clients of RocketMQ 5 at a proxy, before a server whose clock (of TRIMQ_HAND) moves, while the proxy's does not.
 * Prints lines: SAW, what, and the value, with tabs between them.
 */
public final class BehindProxy {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final Duration HALF_AN_HOUR = Duration.ofMinutes(30);
    private static final int TWO_HOURS = 7_200_000;

    private final TriMQExtension hand = new TriMQExtension();
    private final ClientConfiguration configuration;

    private BehindProxy(String proxy) {
        configuration = ClientConfiguration.newBuilder().setEndpoints(proxy).enableSsl(false)
            .setRequestTimeout(Duration.ofSeconds(5)).build();
    }

    /** The proxy's address. The clock stands still already. */
    public static void main(String[] arguments) throws Exception {
        BehindProxy stories = new BehindProxy(arguments[0]);
        int status = 1;
        try {
            stories.clockIsBehind();
            stories.delay();
            stories.invisible();
            stories.longWork();
            stories.transaction();
            stories.furtherThanADay();
            status = 0;
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
        // Clients take 20 s to leave.
        Runtime.getRuntime().halt(status);
    }

    /** By more than a message is hidden: its handle is over for the proxy when it is given. */
    private void clockIsBehind() throws Exception {
        SimpleConsumer consumer = simple("Behind");
        Duration hidden = Duration.ofSeconds(10);
        send("Behind", "early");
        hand.until(() -> System.currentTimeMillis() - hand.millis() > hidden.toMillis() + 1000);
        MessageView message = received(consumer, hidden).get(0);
        saw("an acknowledgement, behind", failure(() -> consumer.ack(message)));
        hand.resume();
        hand.advance("1h");
    }

    private void delay() throws Exception {
        SimpleConsumer consumer = simple("Delayed");
        Producer producer = producer("Delayed");
        producer.send(message("Delayed", "by the server's clock").setDeliveryTimestamp(hand.millis() + TWO_HOURS).build());
        hand.advance("1h59m");
        saw("after 1 h 59 min", hand.sent("Delayed"));
        hand.advance("1m1s");
        saw("after 2 h", all(consumer));
        long soon = System.currentTimeMillis() + HALF_AN_HOUR.toMillis();
        producer.send(message("Delayed", "by the machine's clock").setDeliveryTimestamp(soon).build());
        saw("at once", all(consumer));
    }

    private void invisible() throws Exception {
        SimpleConsumer consumer = simple("Hidden");
        send("Hidden", "again");
        MessageView first = received(consumer, HALF_AN_HOUR).get(0);
        hand.advance("29m");
        saw("in flight after 29 min", inFlight("Hidden"));
        hand.advance("1m1s");
        MessageView second = received(consumer, HALF_AN_HOUR).get(0);
        saw("after 30 min", text(second) + ", attempt " + second.getDeliveryAttempt());
        // Its time is over by the server's clock, and not by the proxy's.
        saw("an acknowledgement, late", failure(() -> consumer.ack(first)));
        consumer.changeInvisibleDuration(second, Duration.ofHours(1));
        hand.advance("1h1s");
        MessageView third = received(consumer, HALF_AN_HOUR).get(0);
        saw("after another hour", text(third) + ", attempt " + third.getDeliveryAttempt());
        consumer.ack(third);
        saw("in flight at the end", inFlight("Hidden"));
    }

    /** The proxy hides a push consumer's message for a minute, and anew when that is nearly over by its own clock. */
    private void longWork() throws Exception {
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        CountDownLatch ends = new CountDownLatch(1);
        push("Pushed", message -> {
            seen.add(text(message) + ", attempt " + message.getDeliveryAttempt());
            if (message.getDeliveryAttempt() == 1) {
                await(ends);
            }
            return ConsumeResult.SUCCESS;
        });
        send("Pushed", "long");
        saw("in work", seen.take());
        hand.advance("61s");
        saw("in work for a minute", seen.take());
        ends.countDown();
    }

    private void transaction() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        TransactionChecker checker = message ->
            asked.incrementAndGet() < 3 ? TransactionResolution.UNKNOWN : TransactionResolution.COMMIT;
        Producer producer = PROVIDER.newProducerBuilder().setClientConfiguration(configuration).setTopics("Halves")
            .setTransactionChecker(checker).build();
        Transaction transaction = producer.beginTransaction();
        producer.send(message("Halves", "half").build(), transaction);
        // Until the proxy has told the broker of the producer, nobody is asked.
        hand.advanceUntil(() -> !hand.sent("Halves").isEmpty());
        saw("after three questions", hand.sent("Halves"));
    }

    private void furtherThanADay() throws Exception {
        Producer producer = producer("Delayed");
        hand.advance("24h");
        Producer normal = producer("Hidden");
        SimpleConsumer consumer = simple("Hidden");
        normal.send(message("Hidden", "after a day").build());
        saw("after a day", all(consumer));
        saw("in two hours, after a day", failure(() ->
            producer.send(message("Delayed", "far").setDeliveryTimestamp(hand.millis() + TWO_HOURS).build())));
    }

    // --- clients

    private SimpleConsumer simple(String topic) throws ClientException {
        return PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(topic + "Group")
            .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).setAwaitDuration(Duration.ofSeconds(20))
            .build();
    }

    private void push(String topic, MessageListener listener) throws ClientException {
        PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(topic + "Group")
            .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).setConsumptionThreadCount(4)
            .setMessageListener(listener).build();
    }

    private Producer producer(String topic) throws ClientException {
        return PROVIDER.newProducerBuilder().setClientConfiguration(configuration).setTopics(topic).build();
    }

    /** Its producer leaves with the program. */
    private void send(String topic, String body) throws ClientException {
        producer(topic).send(message(topic, body).build());
    }

    private static MessageBuilder message(String topic, String body) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(body.getBytes(UTF_8));
    }

    private static String text(MessageView message) { return UTF_8.decode(message.getBody().duplicate()).toString(); }

    private static List<MessageView> received(SimpleConsumer consumer, Duration hidden) throws ClientException {
        return consumer.receive(1, hidden);
    }

    /** What comes, acknowledged. */
    private static List<String> all(SimpleConsumer consumer) throws ClientException {
        List<MessageView> found = received(consumer, HALF_AN_HOUR);
        for (MessageView message : found) {
            consumer.ack(message);
        }
        return found.stream().map(BehindProxy::text).collect(Collectors.toList());
    }

    private List<String> inFlight(String topic) {
        return TriMQExtension.values(hand.call("looks/in_flight", "group", topic + "Group"), "count");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    // --- what is seen

    private interface Attempt {
        void go() throws Exception;
    }

    /** What the proxy says, without the request's id; "no failure". */
    private static String failure(Attempt attempt) throws Exception {
        try {
            attempt.go();
            return "no failure";
        } catch (ClientException refused) {
            return refused.getMessage().replaceFirst(".*response-code=(\\d+)\\] ", "$1 ");
        }
    }

    private static void saw(String what, Object value) { System.out.println("SAW\t" + what + "\t" + value); }
}
