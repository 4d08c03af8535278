package trimq;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.*;
import java.nio.file.Files;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.regex.*;
import org.junit.jupiter.api.extension.*;

/**
 * A RocketMQ broker whose time, faults and life are in the hand of a JUnit 5 test: copy this file. It starts the
 * command `trimq`, or takes the server of TRIMQ_HAND and NAMESRV_ADDR (HOST:PORT each), in a container perhaps.
 * <pre>
 * {@literal @}RegisterExtension static final TriMQExtension rocketmq = new TriMQExtension("transactionTimeOut=10000");
 * </pre>
 */
public final class TriMQExtension implements BeforeAllCallback, AfterEachCallback, AfterAllCallback {
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final List<String> settings;
    private String namesrvAddr = System.getenv("NAMESRV_ADDR");
    private String hand = System.getenv("TRIMQ_HAND");
    private Process process;

    /** Settings of a broker.conf, each KEY=VALUE. */
    public TriMQExtension(String... settings) { this.settings = List.of(settings); }

    public String namesrvAddr() { return namesrvAddr; }

    // Time: "2h", "1m30s", "500ms". Clients go by their own clocks, which nobody moves.
    public long millis() { return Long.parseLong(values(call("time/now"), "millis").get(0)); }
    public void advance(String by) { call("time/advance", "by", by); }
    public void to(String time) { call("time/to", "time", time); }
    public void freeze() { call("time/freeze"); }
    public void resume() { call("time/resume"); }

    /** Moves from one thing that is due to the next, until the condition is true: clients have real time in between. */
    public void advanceUntil(Callable<Boolean> condition) { until(condition, true); }

    /** Waits, in real time, for what clients do. */
    public void until(Callable<Boolean> condition) { until(condition, false); }

    // Faults.
    public void failNext(int sends, String code) { call("faults/fail_next", "sends", sends, "code", code); }
    public void slow(String requests, String by) { call("faults/slow", "requests", requests, "by", by); }
    public void loseAnswer() { call("faults/lose_answer"); }
    public void dropConnections(String client) { call("faults/drop_connections", "client", client); }
    public void fullDisk() { call("faults/full_disk"); }
    public void clearFaults() { call("faults/clear"); }

    // Looking: bodies, as text. A wait that is over says what is there instead.
    public List<String> sent(String topic) { return values(call("looks/sent", "topic", topic), "text"); }
    public List<String> waitFor(String topic, int count) {
        return values(call("looks/wait_for", "topic", topic, "count", count), "text");
    }
    public void waitUntilConsumed(String group) { call("looks/wait_until_consumed", "group", group); }
    public List<String> deadLetters(String group) {
        return values(call("looks/dead_letters", "group", group), "text");
    }

    /** As kill -9 does. It stays away until `restart`. */
    public void kill() { ends("server/kill", false); }
    /** Over the same store, on the same ports. */
    public void restart() { ends("server/restart", true); }

    private void ends(String path, boolean serves) {
        List<String> before = values(call("server/state"), "run");
        call(path);
        until(() -> {
            try {
                String state = call("server/state");
                return !before.equals(values(state, "run")) && values(state, "serves").contains("" + serves);
            } catch (IllegalStateException nobodyListensBetweenTwoPrograms) { return false; }
        }, false);
    }

    /** Any operation of docs/hand.md, with names and values; its answer in JSON. */
    public String call(String path, Object... words) {
        StringBuilder body = new StringBuilder("{");
        for (int i = 0; i < words.length; i += 2) {
            body.append(body.length() > 1 ? "," : "").append(quoted(words[i])).append(':')
                .append(words[i + 1] instanceof String ? quoted(words[i + 1]) : words[i + 1]);
        }
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + hand + "/" + path))
                .POST(HttpRequest.BodyPublishers.ofString(body + "}")).build();
            HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) throw new AssertionError(path + ": " + answer.body());
            return answer.body();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException("no hand answers at " + hand, e);
        }
    }

    private void until(Callable<Boolean> condition, boolean moves) {
        long ends = System.nanoTime() + 30_000_000_000L;
        try {
            while (!condition.call()) {
                if (System.nanoTime() > ends) throw new AssertionError("not so after 30 s");
                if (moves && !call("time/next").equals("null")) call("time/step");
                Thread.sleep(2);
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Override public void beforeAll(ExtensionContext context) throws IOException {
        if (hand != null) return;
        String store = Files.createTempDirectory("trimq").toString();
        List<String> command = new ArrayList<>(List.of("trimq", "server", "--store", store, "--log-level", "warning"));
        for (String where : List.of("--listen", "--namesrv-listen", "--hand"))
            command.addAll(List.of(where, "127.0.0.1:0"));
        for (String setting : settings) command.addAll(List.of("--set", setting));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
        String ready = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        if (ready == null) throw new IOException("trimq did not start: see its output above");
        namesrvAddr = ready.replaceFirst(".*namesrv=(\\S+).*", "$1");
        hand = ready.replaceFirst(".* hand=(\\S+).*", "$1");
    }

    @Override public void afterEach(ExtensionContext context) { call("faults/clear"); call("time/resume"); }

    @Override public void afterAll(ExtensionContext context) {
        if (process == null) return;
        process.destroy();
        process.onExit().join();
        process = null; hand = null;
    }

    /** All values of this name in an answer, in order. A JSON library of yours may read more of it. */
    public static List<String> values(String answer, String name) {
        List<String> found = new ArrayList<>();
        Matcher match = Pattern.compile('"' + name + "\": ?(\"(?:[^\"\\\\]|\\\\.)*\"|[^,}\\]]*)").matcher(answer);
        while (match.find()) {
            String value = match.group(1).replaceAll("\\\\([\"\\\\/])", "$1");
            found.add(match.group(1).startsWith("\"") ? value.substring(1, value.length() - 1) : value);
        }
        return found;
    }

    private static String quoted(Object text) {
        return '"' + text.toString().replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }
}
