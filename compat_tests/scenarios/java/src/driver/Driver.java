package driver;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs scenarios with the official client and writes down, per scenario, what the application saw.
 *
 * <p>Arguments: --namesrv A --broker A --run ID --scenario X,Y --out DIR [--control DIR]
 * [--how restart|kill9] [--parallel N] [--tls].
 * {@code --list} prints the names of all scenarios.
 */
public final class Driver {
    private static final Map<String, Scenario> SCENARIOS = new TreeMap<>();

    static {
        Sending.register(SCENARIOS);
        SendErrors.register(SCENARIOS);
        Batching.register(SCENARIOS);
        Pulling.register(SCENARIOS);
        Offsets.register(SCENARIOS);
        Querying.register(SCENARIOS);
        Pushing.register(SCENARIOS);
        Filtering.register(SCENARIOS);
        StartOffsets.register(SCENARIOS);
        Ordering.register(SCENARIOS);
        Retrying.register(SCENARIOS);
        LitePulling.register(SCENARIOS);
        Clients.register(SCENARIOS);
        Many.register(SCENARIOS);
        Restarting.register(SCENARIOS);
        Mixing.register(SCENARIOS);
    }

    private Driver() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> options = parse(args);
        if (options.containsKey("list")) {
            SCENARIOS.keySet().forEach(System.out::println);
            return;
        }
        List<String> names = List.of(options.get("scenario").split(","));
        names.forEach(name -> {
            if (!SCENARIOS.containsKey(name)) {
                throw new IllegalArgumentException("no scenario " + name);
            }
        });
        runAll(names, options);
        // Clients leave threads behind; what they still do is of no interest.
        System.out.println("driver done");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void runAll(List<String> names, Map<String, String> options) throws Exception {
        Path out = Path.of(options.get("out"));
        int parallel = Integer.parseInt(options.getOrDefault("parallel", "1"));
        ExecutorService pool = Executors.newFixedThreadPool(parallel);
        try (Setup setup = new Setup(options)) {
            List<Future<?>> running = new ArrayList<>();
            names.forEach(setup.control::expect);
            for (String name : names) {
                running.add(pool.submit(() -> {
                    write(out, name, run(setup, name));
                    return null;
                }));
            }
            for (Future<?> one : running) {
                one.get();
            }
        }
    }

    private static Map<String, Object> run(Setup setup, String name) {
        Map<String, Object> result = new HashMap<>();
        result.put("scenario", name);
        result.put("outcome", null);
        result.put("error", null);
        long began = System.currentTimeMillis();
        try (Context context = new Context(setup, name)) {
            result.put("outcome", SCENARIOS.get(name).run(context));
        } catch (Throwable failure) {
            result.put("error", Json.stack(failure));
        } finally {
            setup.control.finished(name);
        }
        System.out.println(name + " took " + (System.currentTimeMillis() - began) + " ms");
        return result;
    }

    private static void write(Path out, String name, Map<String, Object> result) throws Exception {
        Path partial = out.resolve(name + ".partial");
        Files.writeString(partial, Json.write(result));
        Files.move(partial, out.resolve(name + ".json"), StandardCopyOption.ATOMIC_MOVE);
    }

    private static Map<String, String> parse(String[] args) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i < args.length; i++) {
            String key = args[i].substring(2);
            boolean flag = i + 1 == args.length || args[i + 1].startsWith("--");
            options.put(key, flag ? "" : args[++i]);
        }
        return options;
    }
}
