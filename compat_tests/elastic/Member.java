import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * One process of a run: a producer that sends numbers by key through a selector, or members of orderly groups.
 *
 * Arguments: send NAMESRV TOPIC KEYS PAUSE_MILLIS LEAST, or take NAMESRV TOPIC JOURNAL INSTANCE GROUP:TAG:FILE ...
 * Both end when their standard input does; the producer not before it has sent LEAST numbers of each key. It prints how
 * many it has sent of each. The members' group is TOPIC_GROUP: one group's members must all subscribe the same. A group with a FILE keeps its messages until that is there. Every
 * tenth key has the tag "rare". A journal's line: group, key, number, queue, offset, and by the one clock when the
 * message was stored, when the listener began and when it returned (nanoseconds).
 */
public final class Member {
    private static volatile boolean ending;

    public static void main(String[] args) throws Exception {
        // The client's threads would keep a process alive that does nothing any more.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        Thread waiting = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                }
            } catch (IOException error) {
                error.printStackTrace();
            }
            ending = true;
        });
        waiting.setDaemon(true);
        waiting.start();
        if (args[0].equals("send")) {
            send(args[1], args[2], Integer.parseInt(args[3]), Long.parseLong(args[4]), Integer.parseInt(args[5]));
        } else {
            take(args[1], args[2], args[3], args[4], Arrays.copyOfRange(args, 5, args.length));
        }
        System.exit(0);
    }

    private static void send(String namesrv, String topic, int keys, long pause, int least) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("ordered_producers");
        producer.setNamesrvAddr(namesrv);
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        int[] next = new int[keys];
        while (!ending || next[0] < least) {
            for (int key = 0; key < keys; key++) {
                String name = "key-" + key;
                byte[] number = Integer.toString(next[key]).getBytes(StandardCharsets.US_ASCII);
                Message message = new Message(topic, key % 10 == 0 ? "rare" : "usual", name, number);
                try {
                    producer.send(message, (queues, sent, chosen) ->
                        queues.get(Math.floorMod(chosen.hashCode() * 31, queues.size())), name);
                    next[key]++;
                } catch (Exception error) {
                    // The same number once more: nothing of the key comes before it.
                    key--;
                    Thread.sleep(20);
                }
            }
            Thread.sleep(pause);
        }
        System.out.println(Arrays.toString(next));
        producer.shutdown();
    }

    private static void take(String namesrv, String topic, String file, String instance, String[] groups)
        throws Exception {
        OutputStream journal = new FileOutputStream(file, true);
        List<DefaultMQPushConsumer> all = new ArrayList<>();
        for (String words : groups) {
            String[] parts = words.split(":", -1);
            Path lifted = parts[2].isEmpty() ? null : Path.of(parts[2]);
            DefaultMQPushConsumer made = member(namesrv, topic, journal, instance, parts, lifted);
            while (made == null) {
                Thread.sleep(1000);
                made = member(namesrv, topic, journal, instance, parts, lifted);
            }
            all.add(made);
        }
        while (!ending) {
            Thread.sleep(50);
        }
        all.forEach(DefaultMQPushConsumer::shutdown);
    }

    /** Null when nobody tells the route in time, as on a busy machine. */
    private static DefaultMQPushConsumer member(
        String namesrv, String topic, OutputStream journal, String instance, String[] parts, Path lifted)
        throws Exception {
        DefaultMQPushConsumer made = new DefaultMQPushConsumer(topic + "_" + parts[0]);
        made.setNamesrvAddr(namesrv);
        made.setInstanceName(instance + parts[0] + System.nanoTime());
        made.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        made.setPullThresholdForQueue(50);
        made.subscribe(topic, parts[1]);
        made.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            for (MessageExt one : messages) {
                took(journal, parts[0], one, lifted);
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        try {
            made.start();
        } catch (IllegalStateException error) {
            error.printStackTrace();
            made.shutdown();
            return null;
        }
        return made;
    }

    private static void took(OutputStream journal, String group, MessageExt one, Path lifted) {
        long began = now();
        try {
            while (lifted != null && !Files.exists(lifted)) {
                Thread.sleep(50);
            }
            String line = String.join(" ", group, one.getKeys(), new String(one.getBody(), StandardCharsets.US_ASCII),
                Integer.toString(one.getQueueId()), Long.toString(one.getQueueOffset()),
                Long.toString(one.getStoreTimestamp() * 1_000_000L), Long.toString(began), Long.toString(now()));
            // One write: a killed process leaves whole lines only.
            synchronized (journal) {
                journal.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private static long now() {
        Instant time = Instant.now();
        return time.getEpochSecond() * 1_000_000_000L + time.getNano();
    }
}
