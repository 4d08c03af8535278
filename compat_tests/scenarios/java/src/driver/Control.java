package driver;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * Asks the harness to restart the server: writes request-N.json, waits for done-N.
 *
 * <p>A restart hits every scenario of this process, so those that want one meet here first: the last to arrive
 * makes the request for all.
 */
final class Control {
    private final Path folder;
    private final String how;
    private final Set<String> expected = new HashSet<>();
    private final Set<String> arrived = new HashSet<>();
    private int number;

    Control(Path folder, String how) {
        this.folder = folder;
        this.how = how;
    }

    /** A scenario that will ask for a restart, by its name's beginning. */
    synchronized void expect(String scenario) {
        if (scenario.startsWith("restart_")) {
            expected.add(scenario);
        }
    }

    synchronized void finished(String scenario) {
        expected.remove(scenario);
        meet();
    }

    /** Returns when the server has been restarted: "restart" is a clean stop, "kill9" is not. */
    synchronized void restart(String scenario) throws InterruptedException {
        int mine = number;
        arrived.add(scenario);
        meet();
        while (number == mine) {
            wait(240_000);
        }
    }

    private void meet() {
        if (arrived.isEmpty() || !arrived.containsAll(expected)) {
            return;
        }
        arrived.clear();
        try {
            number++;
            Files.writeString(folder.resolve("request.partial"), Json.write(Json.map("do", how)));
            Files.move(folder.resolve("request.partial"), folder.resolve("request-" + number + ".json"));
            Wait.until("the harness restarts the server", 200, () -> Files.exists(folder.resolve("done-" + number)));
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        } finally {
            notifyAll();
        }
    }
}
