import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends with the official client in turns, and prints one JSON line with rate and latency percentiles for each.
 *
 * <p>The official benchmark prints average and maximum only; this fills in p50, p99 and p99.9. Each line of standard
 * input says for how many seconds to send; client, connections and threads stay, so that they are warm.
 * Arguments: namesrv topic threads bytes sync|async messagesOfABatch. Times are those of a send, rates count
 * messages.
 */
public final class Latency {
    private static final int SLOTS = 2_000_000; // one slot per 10 microseconds, up to 20 seconds
    private static final int PATIENCE_MILLIS = 30_000;
    private static final AtomicLongArray HISTOGRAM = new AtomicLongArray(SLOTS);
    private static final AtomicLong FAILED = new AtomicLong();

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
        boolean async = "async".equals(args[4]);
        int batch = Integer.parseInt(args[5]);
        DefaultMQProducer producer = new DefaultMQProducer("bench_latency");
        producer.setNamesrvAddr(args[0]);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        // A JVM that starts on a busy machine may take longer than the usual 3 s for its first requests.
        producer.setMqClientApiTimeout(PATIENCE_MILLIS);
        producer.start();
        producer.send(new Message(topic, body), PATIENCE_MILLIS);
        Semaphore underWay = new Semaphore(threads);
        ExecutorService senders = Executors.newFixedThreadPool(threads);
        BufferedReader turns = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = turns.readLine(); line != null; line = turns.readLine()) {
            for (int slot = 0; slot < SLOTS; slot++) {
                HISTOGRAM.set(slot, 0);
            }
            FAILED.set(0);
            long began = System.nanoTime();
            long end = began + (long) (Double.parseDouble(line) * 1e9);
            List<Future<?>> all = new ArrayList<>(threads);
            for (int i = 0; i < threads; i++) {
                all.add(senders.submit(() -> {
                    while (System.nanoTime() < end) {
                        if (async) {
                            sendAsync(producer, new Message(topic, body), underWay);
                        } else if (batch > 1) {
                            sendBatch(producer, topic, body, batch);
                        } else {
                            sendSync(producer, new Message(topic, body));
                        }
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            // What is still under way belongs to this turn.
            underWay.acquire(threads);
            underWay.release(threads);
            print((System.nanoTime() - began) / 1e9, batch);
            System.out.flush();
        }
        System.exit(0);
    }

    private static void sendSync(DefaultMQProducer producer, Message message) {
        long began = System.nanoTime();
        try {
            record(began, producer.send(message).getSendStatus() == SendStatus.SEND_OK);
        } catch (Exception error) {
            record(began, false);
        }
    }

    private static void sendBatch(DefaultMQProducer producer, String topic, byte[] body, int count) {
        List<Message> messages = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            messages.add(new Message(topic, body));
        }
        long began = System.nanoTime();
        try {
            record(began, producer.send(messages).getSendStatus() == SendStatus.SEND_OK);
        } catch (Exception error) {
            record(began, false);
        }
    }

    private static void sendAsync(DefaultMQProducer producer, Message message, Semaphore underWay) {
        underWay.acquireUninterruptibly();
        long began = System.nanoTime();
        try {
            producer.send(message, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    record(began, result.getSendStatus() == SendStatus.SEND_OK);
                    underWay.release();
                }

                @Override
                public void onException(Throwable error) {
                    record(began, false);
                    underWay.release();
                }
            });
        } catch (Exception error) {
            record(began, false);
            underWay.release();
        }
    }

    private static void record(long began, boolean ok) {
        if (ok) {
            HISTOGRAM.incrementAndGet((int) Math.min(SLOTS - 1, (System.nanoTime() - began) / 10_000));
        } else {
            FAILED.incrementAndGet();
        }
    }

    private static void print(double seconds, int batch) {
        long total = 0;
        double sum = 0;
        for (int slot = 0; slot < SLOTS; slot++) {
            total += HISTOGRAM.get(slot);
            sum += HISTOGRAM.get(slot) * (slot + 0.5) / 100;
        }
        System.out.printf(
            "{\"sent\":%d,\"tps\":%.1f,\"average_ms\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"failed\":%d}%n",
            total * batch, total * batch / seconds, total == 0 ? 0 : sum / total,
            percentile(total, 0.5), percentile(total, 0.99), percentile(total, 0.999), FAILED.get());
    }

    private static double percentile(long total, double share) {
        long seen = 0;
        for (int slot = 0; slot < SLOTS; slot++) {
            seen += HISTOGRAM.get(slot);
            if (seen > 0 && seen >= total * share) {
                return (slot + 1) / 100.0;
            }
        }
        return 0;
    }
}
