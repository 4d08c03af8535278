package driver;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** An orderly consumer in a process of its own, which can be killed; what it is given comes into the ledger. */
public final class Member implements AutoCloseable {
    private static final String GIVEN = "GIVEN ";
    private static final int THREADS = 10;
    private final Process process;
    private final Thread reading;

    private Member(Process process, String who, Ledger ledger) {
        this.process = process;
        reading = new Thread(() -> read(who, ledger));
        reading.start();
    }

    /** Arguments: namesrv broker run scenario name topic... */
    public static void main(String[] args) throws Exception {
        Setup setup = new Setup(Map.of("namesrv", args[0], "broker", args[1], "run", args[2]));
        Context context = new Context(setup, args[3]);
        MessageListenerOrderly listener = (messages, how) -> {
            for (MessageExt message : messages) {
                System.out.println(GIVEN + message.getTopic() + " " + message.getQueueId() + " "
                    + message.getQueueOffset() + " " + Saw.text(message));
            }
            return ConsumeOrderlyStatus.SUCCESS;
        };
        orderly(context, args[4], listener, Arrays.copyOfRange(args, 5, args.length)).start();
        // Until it is killed, or nobody is there any more who would.
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }

    /** Not started yet. */
    static DefaultMQPushConsumer orderly(
        Context context, String who, MessageListenerOrderly listener, String... topics) throws Exception {
        DefaultMQPushConsumer consumer = context.newPush("g", who);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // Few in hand: what a leaving member had pulled is pulled again by the next one.
        consumer.setPullBatchSize(8);
        // One for each queue, or a busy one would keep the others waiting.
        consumer.setConsumeThreadMax(THREADS);
        consumer.setConsumeThreadMin(THREADS);
        for (String topic : topics) {
            consumer.subscribe(topic, "*");
        }
        consumer.setMessageListener(listener);
        return consumer;
    }

    static Member start(Context context, String scenario, String who, Ledger ledger, String... topics)
        throws IOException {
        List<String> command = new ArrayList<>(List.of(
            System.getProperty("java.home") + "/bin/java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Duser.home=" + System.getProperty("user.home"), "-Drocketmq.client.rebalance.waitInterval=1000",
            "-cp", System.getProperty("java.class.path"), Member.class.getName(),
            context.setup.namesrv, context.setup.broker, context.setup.run, scenario, who));
        command.addAll(List.of(topics));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        return new Member(builder.start(), who, ledger);
    }

    private void read(String who, Ledger ledger) {
        try (BufferedReader lines = new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith(GIVEN)) {
                    String[] words = line.split(" ");
                    String queue = words[1] + "/" + words[2];
                    ledger.begins(who, queue, Long.parseLong(words[3]), words[4]);
                    ledger.ends(who, queue);
                }
            }
        } catch (IOException ended) {
            // Killed: what it had written has been read.
        }
    }

    /** SIGKILL; returns when it is dead and everything that it was given is in the ledger. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(30, TimeUnit.SECONDS);
        reading.join(30_000);
    }

    @Override
    public void close() throws InterruptedException {
        kill();
    }
}
