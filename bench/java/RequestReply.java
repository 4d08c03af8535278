import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Asks and answers with the official client in turns: request() on one side, a push consumer that replies on the
 * other, both in this process. Prints one JSON line with round trips a second and their percentiles for each turn.
 *
 * <p>Each line of standard input says for how many seconds to ask; clients, connections and threads stay, so that
 * they are warm. Arguments: namesrv topic threads bytes.
 */
public final class RequestReply {
    private static final int PATIENCE_MILLIS = 30_000;
    private static final int REPLIERS = 20;

    public static void main(String[] args) throws Exception {
        // The client's threads would keep a process alive that does nothing any more.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        String topic = args[1];
        int threads = Integer.parseInt(args[2]);
        byte[] body = new byte[Integer.parseInt(args[3])];
        Arrays.fill(body, (byte) 'x');
        DefaultMQProducer asking = producer(args[0], "asking");
        startReplier(args[0], topic);
        // Until the replier has its queues.
        asking.request(new Message(topic, body), 2 * PATIENCE_MILLIS);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        BufferedReader turns = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = turns.readLine(); line != null; line = turns.readLine()) {
            long began = System.nanoTime();
            long end = began + (long) (Double.parseDouble(line) * 1e9);
            ConcurrentLinkedQueue<Long> times = new ConcurrentLinkedQueue<>();
            AtomicLong failed = new AtomicLong();
            List<Future<?>> all = new ArrayList<>(threads);
            for (int i = 0; i < threads; i++) {
                all.add(pool.submit(() -> {
                    while (System.nanoTime() < end) {
                        ask(asking, new Message(topic, body), times, failed);
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            print(times.stream().mapToLong(Long::longValue), failed.get(), (System.nanoTime() - began) / 1e9);
            System.out.flush();
        }
        System.exit(0);
    }

    /** With a connection of its own: clients of one name share theirs. */
    private static DefaultMQProducer producer(String namesrv, String name) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("bench_" + name);
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName(name);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.setMqClientApiTimeout(PATIENCE_MILLIS);
        producer.start();
        return producer;
    }

    private static void startReplier(String namesrv, String topic) throws Exception {
        DefaultMQProducer replying = producer(namesrv, "replying");
        replying.send(new Message(topic, "route", new byte[1]), PATIENCE_MILLIS);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_replier");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("replier");
        consumer.setMqClientApiTimeout(PATIENCE_MILLIS);
        consumer.setConsumeThreadMin(REPLIERS);
        consumer.setConsumeThreadMax(REPLIERS);
        consumer.setPullInterval(0);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                reply(replying, message);
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
    }

    private static void reply(DefaultMQProducer replying, MessageExt message) {
        if ("route".equals(message.getTags())) {
            return;
        }
        try {
            replying.send(MessageUtil.createReplyMessage(message, message.getBody()), PATIENCE_MILLIS);
        } catch (Exception lost) {
            // The one who asks counts it.
            lost.printStackTrace();
        }
    }

    private static void ask(DefaultMQProducer asking, Message message, ConcurrentLinkedQueue<Long> times,
        AtomicLong failed) {
        long began = System.nanoTime();
        try {
            asking.request(message, PATIENCE_MILLIS);
            times.add(System.nanoTime() - began);
        } catch (Exception unanswered) {
            failed.incrementAndGet();
        }
    }

    private static void print(LongStream times, long failed, double seconds) {
        long[] sorted = times.sorted().toArray();
        System.out.printf("{\"asked\":%d,\"rate\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"failed\":%d}%n",
            sorted.length, sorted.length / seconds, percentile(sorted, 0.5), percentile(sorted, 0.99), failed);
    }

    private static double percentile(long[] sorted, double share) {
        return sorted.length == 0 ? 0 : sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1e6;
    }
}
