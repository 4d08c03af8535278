package driver;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/** Messages that are in work for long, and a proxy that goes away while they are. */
final class GrpcLeases {
    /** The proxy hides a push consumer's messages for a minute and hides them anew while they are in work. */
    private static final int WORK_SECONDS = 130;

    private GrpcLeases() {
    }

    private static void pause(double seconds) {
        try {
            Thread.sleep((long) (seconds * 1000));
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** Two minutes for one message: it comes once, and nothing is left of it. */
    static Object renewal(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", 1);
        grpc.context.createGroup("g");
        Grpc.Seen seen = new Grpc.Seen(message -> {
            if (Grpc.text(message).equals("long")) {
                pause(WORK_SECONDS);
            }
            return false;
        });
        grpc.push("g", topic, Grpc.all(), seen);
        Producer producer = grpc.producer(topic);
        Grpc.send(producer, topic, "long", "short");
        seen.await(2);
        pause(WORK_SECONDS + 15);
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("came", seen.sorted());
        outcome.put("attempts", seen.all().stream().map(MessageView::getDeliveryAttempt).collect(Collectors.toList()));
        return outcome;
    }

    /** Clients go on behind a new proxy, and what the old one had handed out comes again at its time. */
    static Object proxyRestarted(Grpc grpc) throws Exception {
        String topic = grpc.topic("t", "NORMAL", 1);
        grpc.context.createGroup("push");
        grpc.context.createGroup("simple");
        Grpc.Seen seen = new Grpc.Seen();
        grpc.push("push", topic, Grpc.all(), seen);
        SimpleConsumer simple = grpc.simple("simple", topic, Grpc.all());
        Producer producer = grpc.producer(topic);
        Grpc.send(producer, topic, "a", "b");
        seen.await(2);
        // Longer than a new proxy takes on a busy machine.
        List<MessageView> before = GrpcScenarios.received(simple, 2, Duration.ofSeconds(45));
        restartProxy();
        Wait.until("c is sent", Grpc.PATIENCE, () -> sent(producer, topic, "c"));
        Wait.until("c has come", Grpc.PATIENCE, () -> seen.texts().contains("c"));
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("an old handle", acknowledged(simple, before, "a"));
        List<MessageView> after = receivedAcross(simple, 2);
        outcome.put("before", GrpcScenarios.texts(before));
        outcome.put("after", GrpcScenarios.texts(after));
        outcome.put("attempts", after.stream().collect(
            Collectors.toMap(Grpc::text, MessageView::getDeliveryAttempt, Math::max, TreeMap::new)));
        outcome.put("pushed", seen.texts().stream().distinct().sorted().collect(Collectors.toList()));
        return outcome;
    }

    /** Whoever runs this driver behind a proxy looks for the file (behind_proxy.py). */
    private static void restartProxy() throws Exception {
        Path wanted = Path.of(System.getProperty("user.home"), "restart-proxy");
        Files.createFile(wanted);
        Wait.until("a new proxy", 2 * Grpc.PATIENCE, () -> !Files.exists(wanted));
    }

    private static boolean sent(Producer producer, String topic, String body) throws Exception {
        try {
            Grpc.send(producer, topic, body);
            return true;
        } catch (ClientException | RuntimeException away) {
            return false;
        }
    }

    private static boolean acknowledged(SimpleConsumer simple, List<MessageView> messages, String body)
        throws Exception {
        MessageView message = messages.stream().filter(one -> Grpc.text(one).equals(body)).findFirst().get();
        for (int attempt = 0; attempt < 5; attempt++) {
            try {
                simple.ack(message);
                return true;
            } catch (ClientException | RuntimeException away) {
                pause(1);
            }
        }
        return false;
    }

    /** Receiving may fail while the client finds the new proxy. */
    private static List<MessageView> receivedAcross(SimpleConsumer simple, int count) throws Exception {
        List<MessageView> found = new ArrayList<>();
        long end = System.nanoTime() + (long) (Grpc.PATIENCE * 1e9);
        while (found.size() < count && System.nanoTime() < end) {
            try {
                found.addAll(simple.receive(16, Duration.ofSeconds(60)));
            } catch (ClientException | RuntimeException away) {
                pause(1);
            }
        }
        return found;
    }
}
