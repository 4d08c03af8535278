import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;

/**
 * Consumes a backlog with the official push consumer and prints one JSON line with its rate.
 *
 * <p>The official benchmark Consumer reports averages over ten seconds, which is longer than a backlog lasts.
 * The rate counts from the first message to the last one before a pause of two seconds.
 * Arguments: namesrv topic group seconds
 */
public final class Backlog {
    public static void main(String[] args) throws Exception {
        AtomicLong count = new AtomicLong();
        AtomicLong first = new AtomicLong();
        AtomicLong last = new AtomicLong();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.subscribe(args[1], "*");
        consumer.setConsumeThreadMin(20);
        consumer.setConsumeThreadMax(20);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.nanoTime();
            first.compareAndSet(0, now);
            last.set(now);
            count.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long end = System.nanoTime() + Long.parseLong(args[3]) * 1_000_000_000L;
        while (System.nanoTime() < end && (first.get() == 0 || System.nanoTime() - last.get() < 2_000_000_000L)) {
            Thread.sleep(100);
        }
        double seconds = (last.get() - first.get()) / 1e9;
        System.out.printf("{\"consumed\":%d,\"rate\":%.1f}%n", count.get(), count.get() / seconds);
        System.out.flush();
        System.exit(0);
    }
}
