import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends with the official client for a given time and prints one JSON line with rate and latency percentiles.
 *
 * <p>The official benchmark prints average and maximum only; this fills in p50, p99 and p99.9.
 * Arguments: namesrv topic threads bytes warmUpSeconds seconds sync|async messagesOfABatch. Times are those of
 * a send, rates count messages.
 */
public final class Latency {
    private static final int SLOTS = 2_000_000; // one slot per 10 microseconds, up to 20 seconds
    private static final AtomicLong[] HISTOGRAM = new AtomicLong[SLOTS];
    private static final AtomicLong FAILED = new AtomicLong();
    private static volatile boolean counting;
    private static volatile boolean running = true;

    public static void main(String[] args) throws Exception {
        Arrays.setAll(HISTOGRAM, slot -> null);
        String topic = args[1];
        int threads = Integer.parseInt(args[2]);
        byte[] body = new byte[Integer.parseInt(args[3])];
        Arrays.fill(body, (byte) 'x');
        boolean async = "async".equals(args[6]);
        int batch = Integer.parseInt(args[7]);
        DefaultMQProducer producer = new DefaultMQProducer("bench_latency");
        producer.setNamesrvAddr(args[0]);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.start();
        producer.send(new Message(topic, body));
        CountDownLatch ended = new CountDownLatch(threads);
        Semaphore underWay = new Semaphore(threads);
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                while (running) {
                    if (async) {
                        sendAsync(producer, new Message(topic, body), underWay);
                    } else if (batch > 1) {
                        sendBatch(producer, topic, body, batch);
                    } else {
                        sendSync(producer, new Message(topic, body));
                    }
                }
                ended.countDown();
            });
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Long.parseLong(args[4]) * 1000);
        counting = true;
        long began = System.nanoTime();
        Thread.sleep(Long.parseLong(args[5]) * 1000);
        counting = false;
        double seconds = (System.nanoTime() - began) / 1e9;
        running = false;
        ended.await();
        print(seconds, batch);
        System.out.flush();
        producer.shutdown();
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
        if (!counting) {
            return;
        }
        if (!ok) {
            FAILED.incrementAndGet();
            return;
        }
        int slot = (int) Math.min(SLOTS - 1, (System.nanoTime() - began) / 10_000);
        AtomicLong counter = HISTOGRAM[slot];
        if (counter == null) {
            synchronized (HISTOGRAM) {
                counter = HISTOGRAM[slot];
                if (counter == null) {
                    counter = new AtomicLong();
                    HISTOGRAM[slot] = counter;
                }
            }
        }
        counter.incrementAndGet();
    }

    private static void print(double seconds, int batch) {
        long total = 0;
        double sum = 0;
        for (int slot = 0; slot < SLOTS; slot++) {
            if (HISTOGRAM[slot] != null) {
                total += HISTOGRAM[slot].get();
                sum += HISTOGRAM[slot].get() * (slot + 0.5) / 100;
            }
        }
        System.out.printf(
            "{\"sent\":%d,\"tps\":%.1f,\"average_ms\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"failed\":%d}%n",
            total * batch, total * batch / seconds, total == 0 ? 0 : sum / total,
            percentile(total, 0.5), percentile(total, 0.99), percentile(total, 0.999), FAILED.get());
    }

    private static double percentile(long total, double share) {
        long seen = 0;
        for (int slot = 0; slot < SLOTS; slot++) {
            if (HISTOGRAM[slot] != null) {
                seen += HISTOGRAM[slot].get();
                if (seen >= total * share) {
                    return (slot + 1) / 100.0;
                }
            }
        }
        return 0;
    }
}
