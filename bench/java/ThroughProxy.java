import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.consumer.LitePushConsumer;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * Official RocketMQ 5 clients behind a proxy, in turns: a line of standard input says for how many seconds, and is
 * answered by a line of JSON. Clients stay from turn to turn, so that they are warm.
 *
 * <p>Arguments: endpoints topic threads bytes, and one of
 * send: threads that send one message after the other;
 * receive PREFIX: simple consumers receive 32 at a time and acknowledge each; every turn has a group of its own;
 * lite GROUP COUNT: threads send to so many lite topics in turn, all of which one lite push consumer reads meanwhile.
 */
public final class ThroughProxy {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration INVISIBLE = Duration.ofMinutes(10);
    private static final int BATCH = 32;
    private static final long SILENCE_NANOS = 2_000_000_000L;

    private final String[] args;
    private final String topic;
    private final int threads;
    private final byte[] body;
    private final ExecutorService pool;
    /** Nanoseconds of each send, or of each receive with its acknowledgements. */
    private final Queue<Long> times = new ConcurrentLinkedQueue<>();
    private Producer producer;
    private int turns;

    private ThroughProxy(String[] args) {
        this.args = args;
        this.topic = args[1];
        this.threads = Integer.parseInt(args[2]);
        this.body = new byte[Integer.parseInt(args[3])];
        this.pool = Executors.newFixedThreadPool(threads);
    }

    public static void main(String[] args) throws Exception {
        // The clients' threads would keep a process alive that does nothing any more.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        ThroughProxy load = new ThroughProxy(args);
        Turn turn = load.prepared(args[4]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(turn.play((long) (Double.parseDouble(line) * 1e9)));
            System.out.flush();
        }
        System.exit(0);
    }

    private interface Turn {
        String play(long nanos) throws Exception;
    }

    private Turn prepared(String what) throws Exception {
        switch (what) {
            case "send":
                producer = producer();
                return this::send;
            case "receive":
                return this::receive;
            case "lite":
                producer = producer();
                return lite(args[5], Integer.parseInt(args[6]));
            default:
                throw new IllegalArgumentException(what);
        }
    }

    private ClientConfiguration configuration() {
        return ClientConfiguration.newBuilder().setEndpoints(args[0]).enableSsl(false).setRequestTimeout(PATIENCE)
            .build();
    }

    private Producer producer() throws Exception {
        return PROVIDER.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topic).build();
    }

    private MessageBuilder message() {
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(body);
    }

    /** The same in all threads. */
    private long together(Callable<Long> work) throws Exception {
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add(pool.submit(work));
        }
        long sum = 0;
        for (Future<Long> one : all) {
            sum += one.get();
        }
        return sum;
    }

    private String send(long nanos) throws Exception {
        times.clear();
        long began = System.nanoTime();
        long sent = together(() -> {
            long own = 0;
            for (long now = began; now - began < nanos; own++) {
                producer.send(message().build());
                now = timed(now);
            }
            return own;
        });
        return rate(sent, (System.nanoTime() - began) / 1e9);
    }

    /** Notes how long something took, and returns the time. */
    private long timed(long since) {
        long now = System.nanoTime();
        times.add(now - since);
        return now;
    }

    private String receive(long nanos) throws Exception {
        String group = args[5] + "-" + turns++;
        try (SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration())
            .setConsumerGroup(group).setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL))
            .setAwaitDuration(Duration.ofSeconds(2)).build()) {
            // The group's first request makes it, which is not what is counted.
            acknowledged(consumer);
            times.clear();
            long began = System.nanoTime();
            long received = together(() -> {
                long own = 0;
                for (long now = began; now - began < nanos; now = timed(now)) {
                    own += acknowledged(consumer);
                }
                return own;
            });
            return rate(received, (System.nanoTime() - began) / 1e9);
        }
    }

    private long acknowledged(SimpleConsumer consumer) throws Exception {
        List<MessageView> messages = consumer.receive(BATCH, INVISIBLE);
        CompletableFuture<?>[] acks = messages.stream().map(consumer::ackAsync).toArray(CompletableFuture[]::new);
        CompletableFuture.allOf(acks).get();
        return messages.size();
    }

    private Turn lite(String group, int count) throws Exception {
        AtomicLong consumed = new AtomicLong();
        AtomicLong last = new AtomicLong();
        LitePushConsumer consumer = PROVIDER.newLitePushConsumerBuilder().setClientConfiguration(configuration())
            .setConsumerGroup(group).bindTopic(topic).setMessageListener(message -> {
                consumed.incrementAndGet();
                last.set(System.nanoTime());
                return ConsumeResult.SUCCESS;
            }).build();
        for (int i = 0; i < count; i++) {
            consumer.subscribeLite("lite" + i);
        }
        AtomicLong next = new AtomicLong();
        return nanos -> {
            consumed.set(0);
            long began = System.nanoTime();
            last.set(began);
            long sent = together(() -> {
                long own = 0;
                while (System.nanoTime() - began < nanos) {
                    producer.send(message().setLiteTopic("lite" + next.getAndIncrement() % count).build());
                    own++;
                }
                return own;
            });
            double seconds = (System.nanoTime() - began) / 1e9;
            while (consumed.get() < sent && System.nanoTime() - last.get() < SILENCE_NANOS) {
                Thread.sleep(5);
            }
            double took = (last.get() - began) / 1e9;
            return String.format("{\"rate\":%.1f,\"sent\":%d,\"consumed\":%d,\"consumed_rate\":%.1f}", sent / seconds,
                sent, consumed.get(), took > 0 ? consumed.get() / took : 0);
        };
    }

    private String rate(long count, double seconds) {
        long[] sorted = times.stream().mapToLong(Long::longValue).sorted().toArray();
        double p99 = sorted.length == 0 ? 0 : sorted[Math.min(sorted.length - 1, sorted.length * 99 / 100)] / 1e6;
        return String.format("{\"rate\":%.1f,\"count\":%d,\"p99_ms\":%.2f}", count / seconds, count, p99);
    }
}
