package driver;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A producer that numbers the messages of each key, and sends the next one of a key when the last was stored.
 *
 * <p>A topic of one queue has one key: that is global order. The queue of others is chosen by the key.
 */
final class Feed implements AutoCloseable {
    private static final int KEYS = 24;
    private final DefaultMQProducer producer;
    private final Ledger ledger;
    private final long pauseMillis;
    private final List<String> topics;
    private final Map<String, Integer> next = new TreeMap<>();
    private final Thread sending = new Thread(this::run);
    private volatile boolean running = true;

    /** Not begun yet; {@code global} has one queue. */
    Feed(DefaultMQProducer producer, Ledger ledger, String global, String keyed, long pauseMillis) {
        this.producer = producer;
        this.ledger = ledger;
        this.pauseMillis = pauseMillis;
        topics = List.of(keyed, keyed, global);
    }

    Feed begin() {
        sending.start();
        return this;
    }

    private void run() {
        for (int turn = 0; running; turn++) {
            String topic = topics.get(turn % topics.size());
            String key = topic.equals(topics.get(2)) ? "global" : String.format("k%02d", turn % KEYS);
            send(topic, key);
            pause();
        }
    }

    /** Until it is stored, or the feed ends: a later one must not overtake it. */
    private void send(String topic, String key) {
        String body = String.format("%s/%05d", key, next.merge(key, 1, Integer::sum) - 1);
        Message message = new Message(topic, "a", key, body.getBytes(StandardCharsets.UTF_8));
        while (running) {
            try {
                if (producer.send(message, Feed::queue, key).getSendStatus() == SendStatus.SEND_OK) {
                    ledger.sent(body);
                    return;
                }
            } catch (Exception unavailable) {
                // The broker is down: once more.
                pause();
            }
        }
    }

    private static MessageQueue queue(List<MessageQueue> queues, Message message, Object key) {
        return queues.get(Math.floorMod(key.hashCode(), queues.size()));
    }

    private void pause() {
        try {
            Thread.sleep(pauseMillis);
        } catch (InterruptedException end) {
            running = false;
        }
    }

    @Override
    public void close() throws InterruptedException {
        running = false;
        sending.join();
    }
}
