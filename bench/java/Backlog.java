import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.protocol.route.BrokerData;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Consumes a backlog with the official push consumer in turns, and prints one JSON line with the rate of each.
 *
 * <p>The official benchmark Consumer reports averages over ten seconds, which is longer than a backlog lasts. Each line
 * of standard input says for how many seconds to consume; every turn has a group of its own, so it begins at the
 * beginning, in the same process, which is warm. The rate counts from the first message, to the end of
 * that time or, when nothing was left before, to the last one.
 * Arguments: namesrv topic groupPrefix [pop]: with the last one the groups pop, by the switch at the broker.
 */
public final class Backlog {
    private static final long FIRST_MESSAGE_NANOS = 60_000_000_000L;
    private static final int PATIENCE_MILLIS = 30_000;
    private static final long SILENCE_NANOS = 2_000_000_000L;

    public static void main(String[] args) throws Exception {
        // The client's threads would keep a process alive that does nothing any more.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        BufferedReader turns = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        int number = 0;
        for (String line = turns.readLine(); line != null; line = turns.readLine()) {
            String group = args[2] + "-" + number++;
            boolean pops = args.length > 3 && "pop".equals(args[3]);
            if (pops) {
                popFrom(args[0], args[1], group);
            }
            turn(args[0], args[1], group, pops, (long) (Double.parseDouble(line) * 1e9));
            System.out.flush();
        }
        System.exit(0);
    }

    /** What {@code mqadmin setConsumeMode} does. */
    private static void popFrom(String namesrv, String topic, String group) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(PATIENCE_MILLIS);
        admin.setNamesrvAddr(namesrv);
        admin.setInstanceName("admin");
        admin.start();
        for (BrokerData broker : admin.examineTopicRouteInfo(topic).getBrokerDatas()) {
            admin.setMessageRequestMode(broker.selectBrokerAddr(), topic, group, MessageRequestMode.POP, 0,
                PATIENCE_MILLIS);
        }
        admin.shutdown();
    }

    private static void turn(String namesrv, String topic, String group, boolean pops, long nanos) throws Exception {
        AtomicLong count = new AtomicLong();
        AtomicLong first = new AtomicLong();
        AtomicLong last = new AtomicLong();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setClientRebalance(!pops);
        if (pops) {
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        }
        consumer.subscribe(topic, "*");
        // A JVM that starts on a busy machine may take longer than the usual 3 s for its first requests.
        consumer.setMqClientApiTimeout(PATIENCE_MILLIS);
        consumer.setConsumeThreadMin(20);
        consumer.setConsumeThreadMax(20);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.nanoTime();
            first.compareAndSet(0, now);
            if (now - first.get() <= nanos) {
                last.set(now);
                count.addAndGet(messages.size());
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long began = System.nanoTime();
        while (goesOn(began, first.get(), last.get(), nanos)) {
            Thread.sleep(20);
        }
        double seconds = (last.get() - first.get()) / 1e9;
        long consumed = count.get();
        System.out.printf("{\"consumed\":%d,\"rate\":%.1f}%n", consumed, seconds > 0 ? consumed / seconds : 0);
        consumer.shutdown();
    }

    private static boolean goesOn(long began, long first, long last, long nanos) {
        long now = System.nanoTime();
        if (first == 0) {
            return now - began < FIRST_MESSAGE_NANOS;
        }
        return now - first < nanos && now - last < SILENCE_NANOS;
    }
}
