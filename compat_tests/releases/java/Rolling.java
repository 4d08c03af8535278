import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * An application that sends and consumes, as the client's own defaults have it, until a file says stop: NAMESRV TOPIC
 * FOLDER ROUTE_MILLIS. Then it waits for what it has sent, and writes what it saw. Whatever a client throws or calls
 * back with is an error that the application would have to handle.
 */
public final class Rolling {
    private static final int SENDERS = 2;
    private static final long PAUSE_MILLIS = 4;
    private static final long WAIT_MILLIS = 120_000;

    private final String namesrv;
    private final String topic;
    private final Path folder;
    // How often clients ask for routes, 30 s by default. Shorter, an operator need not wait that long.
    private final int routeMillis;
    private final Set<String> sent = ConcurrentHashMap.newKeySet();
    private final Queue<String> errors = new ConcurrentLinkedQueue<>();
    private final AtomicInteger pending = new AtomicInteger();
    private final AtomicLong again = new AtomicLong();
    private volatile boolean stopping;

    private Rolling(String namesrv, String topic, Path folder, int routeMillis) {
        this.namesrv = namesrv;
        this.topic = topic;
        this.folder = folder;
        this.routeMillis = routeMillis;
    }

    public static void main(String[] args) throws Exception {
        new Rolling(args[0], args[1], Path.of(args[2]), Integer.parseInt(args[3])).run();
        System.exit(0);
    }

    private void run() throws Exception {
        List<Set<String>> seen = new ArrayList<>();
        seen.add(concurrently());
        seen.add(orderly());
        DefaultMQProducer producer = new DefaultMQProducer(topic + "-senders");
        producer.setNamesrvAddr(namesrv);
        producer.setPollNameServerInterval(routeMillis);
        producer.start();
        List<Thread> senders = new ArrayList<>();
        for (int at = 0; at < SENDERS; at++) {
            int number = at;
            senders.add(new Thread(() -> send(producer, "sync" + number, true)));
        }
        senders.add(new Thread(() -> send(producer, "async", false)));
        senders.forEach(Thread::start);
        waitFor(seen, 300);
        Files.createFile(folder.resolve("running"));
        while (!Files.exists(folder.resolve("stop"))) {
            Thread.sleep(50);
        }
        stopping = true;
        for (Thread one : senders) {
            one.join();
        }
        long deadline = System.currentTimeMillis() + WAIT_MILLIS;
        while (System.currentTimeMillis() < deadline && (pending.get() > 0 || !allSeen(seen))) {
            Thread.sleep(100);
        }
        write(seen);
    }

    private boolean allSeen(List<Set<String>> seen) {
        return seen.stream().allMatch(one -> one.containsAll(sent));
    }

    private void waitFor(List<Set<String>> seen, int count) throws InterruptedException {
        while (seen.stream().anyMatch(one -> one.size() < count)) {
            Thread.sleep(50);
        }
    }

    private void send(DefaultMQProducer producer, String name, boolean waits) {
        for (int number = 0; !stopping; number++) {
            String id = name + "-" + number;
            try {
                Message message = new Message(topic, "Tag", id, id.getBytes());
                if (waits) {
                    told(id, producer.send(message));
                } else {
                    pending.incrementAndGet();
                    producer.send(message, callback(id));
                }
                Thread.sleep(PAUSE_MILLIS);
            } catch (Exception error) {
                errors.add(System.currentTimeMillis() + " " + id + " " + error);
            }
        }
    }

    private SendCallback callback(String id) {
        return new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                told(id, result);
                pending.decrementAndGet();
            }

            @Override
            public void onException(Throwable error) {
                errors.add(System.currentTimeMillis() + " " + id + " " + error);
                pending.decrementAndGet();
            }
        };
    }

    private void told(String id, SendResult result) {
        if (result.getSendStatus() == SendStatus.SEND_OK) {
            sent.add(id);
        } else {
            errors.add(id + " " + result.getSendStatus());
        }
    }

    private Set<String> concurrently() throws Exception {
        Set<String> seen = ConcurrentHashMap.newKeySet();
        DefaultMQPushConsumer consumer = consumer("concurrently");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            note(messages, seen);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return seen;
    }

    private Set<String> orderly() throws Exception {
        Set<String> seen = ConcurrentHashMap.newKeySet();
        DefaultMQPushConsumer consumer = consumer("orderly");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            note(messages, seen);
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        return seen;
    }

    private DefaultMQPushConsumer consumer(String name) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(topic + "-" + name);
        consumer.setNamesrvAddr(namesrv);
        consumer.setPollNameServerInterval(routeMillis);
        consumer.setInstanceName(name);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        return consumer;
    }

    private void note(List<MessageExt> messages, Set<String> seen) {
        for (MessageExt one : messages) {
            if (!seen.add(new String(one.getBody()))) {
                again.incrementAndGet();
            }
        }
    }

    private void write(List<Set<String>> seen) throws Exception {
        List<String> lines = new ArrayList<>();
        lines.add("sent " + sent.size());
        lines.add("again " + again.get());
        lines.add("unanswered " + pending.get());
        errors.forEach(one -> lines.add("error " + one.replace('\n', ' ')));
        for (Set<String> one : seen) {
            sent.stream().filter(id -> !one.contains(id)).forEach(id -> lines.add("lost " + id));
        }
        Path partial = folder.resolve("result.partial");
        Files.write(partial, lines);
        Files.move(partial, folder.resolve("result"));
    }
}
