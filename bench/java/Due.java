import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends timer messages with the official client, all due within a span that begins later, and says how late each came.
 *
 * <p>Lateness is counted from the asked time: to when the delivered message was stored, which is the broker's alone,
 * and to when a push consumer had it. Prints one JSON line; times are milliseconds, negative ones would be early.
 * Arguments: namesrv topic count spanMillis leadMillis.
 */
public final class Due {
    private static final int PATIENCE_MILLIS = 30_000;
    private static final int UNDER_WAY = 64;
    private static final int LIMIT_SECONDS = 300;
    private static final long MISSING = Long.MIN_VALUE;
    private static final String ASKED = "TIMER_DELIVER_MS";

    public static void main(String[] args) throws Exception {
        // The client's threads would keep a process alive that does nothing any more.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        long span = Long.parseLong(args[3]);
        long lead = Long.parseLong(args[4]);
        long[] stored = new long[count];
        long[] received = new long[count];
        Arrays.fill(received, MISSING);
        DefaultMQProducer producer = new DefaultMQProducer("bench_due");
        producer.setNamesrvAddr(args[0]);
        producer.setMqClientApiTimeout(PATIENCE_MILLIS);
        producer.start();
        // The topic, for the consumer to subscribe to.
        producer.send(new Message(topic, "route", new byte[1]), PATIENCE_MILLIS);
        CountDownLatch arrived = consume(args[0], topic, stored, received);
        long first = System.currentTimeMillis() + lead;
        long failed = send(producer, topic, count, first, span);
        long ready = first - System.currentTimeMillis();
        arrived.await(failed > 0 ? 0 : lead + span + LIMIT_SECONDS * 1000L, TimeUnit.MILLISECONDS);
        System.out.printf("{\"count\":%d,\"missing\":%d,\"failed\":%d,\"sent_before_ms\":%d,%s,%s}%n", count,
            arrived.getCount(), failed, ready, told("stored", stored), told("received", received));
        System.out.flush();
        System.exit(0);
    }

    private static long send(DefaultMQProducer producer, String topic, int count, long first, long span)
        throws Exception {
        Semaphore underWay = new Semaphore(UNDER_WAY);
        AtomicLong failed = new AtomicLong();
        for (int number = 0; number < count; number++) {
            // Neighbours are due far apart; each millisecond of the span has its share.
            long due = first + (number * 7919L) % count * span / count;
            Message message = new Message(topic, "timer", String.valueOf(number), new byte[128]);
            message.setDeliverTimeMs(due);
            underWay.acquire();
            producer.send(message, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    underWay.release();
                }

                @Override
                public void onException(Throwable error) {
                    error.printStackTrace();
                    failed.incrementAndGet();
                    underWay.release();
                }
            }, PATIENCE_MILLIS);
        }
        underWay.acquire(UNDER_WAY);
        return failed.get();
    }

    /** Counts down once for each message, however often it comes. */
    private static CountDownLatch consume(String namesrv, String topic, long[] stored, long[] received)
        throws Exception {
        CountDownLatch missing = new CountDownLatch(stored.length);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_due");
        consumer.setNamesrvAddr(namesrv);
        consumer.setMqClientApiTimeout(PATIENCE_MILLIS);
        consumer.setPullBatchSize(32);
        consumer.setConsumeMessageBatchMaxSize(32);
        consumer.subscribe(topic, "timer");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.currentTimeMillis();
            for (MessageExt message : messages) {
                long asked = Long.parseLong(message.getProperty(ASKED));
                int number = Integer.parseInt(message.getKeys());
                synchronized (received) {
                    if (received[number] == MISSING) {
                        stored[number] = message.getStoreTimestamp() - asked;
                        received[number] = now - asked;
                        missing.countDown();
                    }
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return missing;
    }

    private static String told(String name, long[] late) {
        List<Long> sorted = new ArrayList<>(late.length);
        for (long one : late) {
            sorted.add(one);
        }
        sorted.sort(null);
        int last = sorted.size() - 1;
        return String.format("\"%s\":{\"earliest_ms\":%d,\"p50_ms\":%d,\"p99_ms\":%d,\"last_ms\":%d}", name,
            sorted.get(0), sorted.get(last / 2), sorted.get((int) (last * 0.99)), sorted.get(last));
    }
}
