import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends numbers by key through a selector and consumes them in order, in one group whose second member comes and goes,
 * and says in one line of JSON what it saw.
 *
 * Arguments: NameServer, topic, keys, seconds to send, pause between two rounds of all keys in milliseconds.
 * A key's next number is in order when it is at most one above the highest that was consumed: what came before may come
 * again.
 */
public final class Ordered {
    private static final Map<String, Integer> HIGHEST = new ConcurrentHashMap<>();
    private static final AtomicInteger CONSUMED = new AtomicInteger();
    private static final AtomicInteger AGAIN = new AtomicInteger();
    private static final AtomicInteger DISORDER = new AtomicInteger();
    private static final List<String> FIRST = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        String namesrv = args[0];
        String topic = args[1];
        int keys = Integer.parseInt(args[2]);
        long seconds = Long.parseLong(args[3]);
        long pause = Long.parseLong(args[4]);

        DefaultMQProducer producer = new DefaultMQProducer("ordered_producers");
        producer.setNamesrvAddr(namesrv);
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        DefaultMQPushConsumer first = consumer(namesrv, topic, "one");
        DefaultMQPushConsumer second = null;

        int[] next = new int[keys];
        long began = System.nanoTime();
        int round = 0;
        int refused = 0;
        while (System.nanoTime() - began < seconds * 1_000_000_000L) {
            for (int key = 0; key < keys; key++) {
                String name = "key-" + key;
                Message message = new Message(topic, "T", name, Integer.toString(next[key]).getBytes());
                try {
                    producer.send(message, (queues, sent, chosen) ->
                        queues.get(Math.floorMod(chosen.hashCode() * 31, queues.size())), name);
                    next[key]++;
                } catch (Exception error) {
                    // The same number once more: nothing of the key comes before it.
                    refused++;
                    key--;
                    Thread.sleep(20);
                }
            }
            long elapsed = (System.nanoTime() - began) / 1_000_000_000L;
            if (second == null && elapsed % 40 >= 20) {
                second = consumer(namesrv, topic, "two-" + round);
            } else if (second != null && elapsed % 40 < 20) {
                second.shutdown();
                second = null;
            }
            round++;
            Thread.sleep(pause);
        }
        long patience = System.nanoTime() + 150_000_000_000L;
        while (!allIsThere(next) && System.nanoTime() < patience) {
            Thread.sleep(100);
        }
        int missing = 0;
        int sent = 0;
        for (int key = 0; key < keys; key++) {
            sent += next[key];
            missing += next[key] - 1 - HIGHEST.getOrDefault("key-" + key, -1);
        }
        System.out.println(String.format(
            "{\"sent\":%d,\"consumed\":%d,\"again\":%d,\"disorder\":%d,\"missing\":%d,\"refused\":%d,\"first\":\"%s\"}",
            sent, CONSUMED.get(), AGAIN.get(), DISORDER.get(), missing, refused, String.join(" ", FIRST)));
        if (second != null) {
            second.shutdown();
        }
        first.shutdown();
        producer.shutdown();
        System.exit(0);
    }

    private static boolean allIsThere(int[] next) {
        for (int key = 0; key < next.length; key++) {
            if (HIGHEST.getOrDefault("key-" + key, -1) < next[key] - 1) {
                return false;
            }
        }
        return true;
    }

    private static DefaultMQPushConsumer consumer(String namesrv, String topic, String name) throws Exception {
        DefaultMQPushConsumer made = new DefaultMQPushConsumer(topic + "_consumers");
        made.setNamesrvAddr(namesrv);
        made.setInstanceName(name);
        made.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        made.setPullThresholdForQueue(50);
        made.subscribe(topic, "*");
        made.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            messages.forEach(one -> consumed(one.getKeys(), Integer.parseInt(new String(one.getBody())), one.getQueueId()));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        made.start();
        return made;
    }

    private static void consumed(String key, int number, int queue) {
        CONSUMED.incrementAndGet();
        HIGHEST.compute(key, (name, highest) -> {
            int before = highest == null ? -1 : highest;
            if (number <= before) {
                AGAIN.incrementAndGet();
                return before;
            }
            if (number > before + 1) {
                DISORDER.incrementAndGet();
                synchronized (FIRST) {
                    if (FIRST.size() < 5) {
                        FIRST.add(name + ":" + before + "->" + number + "@" + queue);
                    }
                }
            }
            return number;
        });
    }
}
