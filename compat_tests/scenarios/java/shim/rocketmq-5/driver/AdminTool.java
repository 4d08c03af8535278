package driver;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs many mqadmin command lines in one JVM: a start costs seconds, a command a fraction of one.
 *
 * <p>Each line of standard input is one request, its words separated by tabs: {@code admin WORD...},
 * {@code endless WORD...} (the same, interrupted when the command sleeps), {@code consumer NAMESRV GROUP TOPIC
 * EXPRESSION [traced | SECONDS]} (with traces, or as if it had started so long ago), {@code received GROUP} (prints the
 * bodies), {@code count NAMESRV GROUP} (prints how many messages the group has consumed), {@code producer NAMESRV GROUP
 * TOPIC}, {@code trace NAMESRV GROUP TOPIC BODY} (sends one traced message, prints its id), {@code monitor NAMESRV} (one
 * round of the monitoring command) or {@code close} (ends all clients). Each is answered with {@code = OUT ERR} and that
 * many bytes of what it printed.
 */
public final class AdminTool {
    private static final List<Runnable> CLIENTS = new ArrayList<>();
    private static final Map<String, AtomicInteger> CONSUMED = new ConcurrentHashMap<>();
    /** Bodies by group, in the order in which they came. */
    private static final Map<String, Queue<String>> RECEIVED = new ConcurrentHashMap<>();

    private AdminTool() {
    }

    public static void main(String[] args) {
        try {
            answerAll();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        // Clients leave threads behind; what they still do is of no interest.
        Runtime.getRuntime().halt(0);
    }

    private static void answerAll() throws IOException {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out));
        // The logging library says how it starts; that belongs to no command.
        System.setOut(System.err);
        Tool.run("help", "topicList");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            try {
                run(line.split("\t", -1));
            } catch (Throwable failure) {
                failure.printStackTrace();
            }
            answers.print("= " + out.size() + " " + err.size() + "\n");
            out.writeTo(answers);
            err.writeTo(answers);
            answers.flush();
        }
    }

    private static void run(String[] words) throws Exception {
        switch (words[0]) {
            case "admin":
                Tool.run(Arrays.copyOfRange(words, 1, words.length));
                break;
            case "endless":
                endless(Arrays.copyOfRange(words, 1, words.length));
                break;
            case "consumer":
                consumer(words[1], words[2], words[3], words[4], words.length > 5 ? words[5] : "0");
                break;
            case "count":
                System.out.print(consumed(words[1], words[2]).get());
                break;
            case "monitor":
                Monitor.round(words[1]);
                break;
            case "received":
                RECEIVED.getOrDefault(words[1], new ConcurrentLinkedQueue<>()).forEach(System.out::println);
                break;
            case "producer":
                producer(words[1], words[2], words[3]);
                break;
            case "trace":
                trace(words[1], words[2], words[3], words[4]);
                break;
            case "close":
                CLIENTS.forEach(Runnable::run);
                CLIENTS.clear();
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** The official tool. Some of its commands keep their client, so each run gets new ones. */
    private static final class Tool extends MQAdminStartup {
        static void run(String... words) {
            SUB_COMMANDS.clear();
            main0(words, null);
        }
    }

    private static AtomicInteger consumed(String namesrv, String group) {
        return CONSUMED.computeIfAbsent(group + "@" + namesrv, name -> new AtomicInteger());
    }

    /** Waits until the command itself sleeps between two rounds, and ends it there. */
    private static void endless(String... words) throws InterruptedException {
        Thread runner = new Thread(() -> Tool.run(words));
        runner.start();
        while (runner.isAlive()) {
            if (sleepsInCommand(runner.getStackTrace())) {
                runner.interrupt();
                runner.join();
            }
            Thread.sleep(20);
        }
    }

    private static boolean sleepsInCommand(StackTraceElement[] frames) {
        int depth = 0;
        while (depth < frames.length && frames[depth].getClassName().equals("java.lang.Thread")) {
            depth++;
        }
        return depth > 0 && depth < frames.length
            && frames[depth].getClassName().startsWith("org.apache.rocketmq.tools.command.");
    }

    private static void consumer(String namesrv, String group, String topic, String expression, String more)
        throws Exception {
        boolean traced = more.equals("traced");
        long age = traced ? 0 : Long.parseLong(more);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setEnableTrace(traced);
        consumer.setNamesrvAddr(namesrv);
        // Clients with one name would share one connection, whatever their server.
        consumer.setInstanceName(group + "-" + CLIENTS.size());
        consumer.setPersistConsumerOffsetInterval(500);
        consumer.subscribe(topic, expression);
        AtomicInteger count = consumed(namesrv, group);
        Queue<String> received = RECEIVED.computeIfAbsent(group, name -> new ConcurrentLinkedQueue<>());
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> received.add(new String(message.getBody(), StandardCharsets.UTF_8)));
            count.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        if (age > 0) {
            Field start = DefaultMQPushConsumerImpl.class.getDeclaredField("consumerStartTimestamp");
            start.setAccessible(true);
            start.setLong(consumer.getDefaultMQPushConsumerImpl(), System.currentTimeMillis() - age * 1000);
        }
        CLIENTS.add(consumer::shutdown);
    }

    private static void producer(String namesrv, String group, String topic) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName(group + "-" + CLIENTS.size());
        producer.start();
        MQClientInstance client = producer.getDefaultMQProducerImpl().getMqClientFactory();
        client.updateTopicRouteInfoFromNameServer(topic);
        client.sendHeartbeatToAllBrokerWithLock();
        CLIENTS.add(producer::shutdown);
    }

    private static void trace(String namesrv, String group, String topic, String body) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName(group + "-" + CLIENTS.size());
        producer.setEnableTrace(true);
        producer.start();
        CLIENTS.add(producer::shutdown);
        System.out.println(producer.send(new Message(topic, body.getBytes(StandardCharsets.UTF_8))).getMsgId());
    }
}
