package driver;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/** Which request codes a client sends, and which codes come back: as sets, since the numbers depend on timing. */
final class Watch implements RPCHook {
    private static final int PULL_MESSAGE = 11;
    private static final int LITE_PULL_MESSAGE = 361;
    private static final int HEART_BEAT = 34;
    private static final int GET_CONSUMER_LIST_BY_GROUP = 38;
    private final Map<Integer, Set<Object>> seen = new TreeMap<>();
    private int heartbeats;
    private int fingerprints;

    @Override
    public synchronized void doBeforeRequest(String remoteAddr, RemotingCommand request) {
        seen.computeIfAbsent(request.getCode(), code -> new TreeSet<>());
    }

    @Override
    public synchronized void doAfterResponse(String addr, RemotingCommand request, RemotingCommand response) {
        int code = request.getCode();
        if (code == HEART_BEAT && response != null) {
            heartbeats++;
            fingerprints += leavesSubscriptionsOut(request) ? 1 : 0;
        }
        // Whether a pull finds something, or a group has members already, is a question of the moment.
        boolean timing = code == PULL_MESSAGE || code == LITE_PULL_MESSAGE || code == GET_CONSUMER_LIST_BY_GROUP;
        if (response != null && !timing) {
            seen.computeIfAbsent(code, key -> new TreeSet<>()).add(response.getCode());
        }
    }

    /** Returns when a heartbeat has been answered and all these requests were seen, in either direction. */
    void awaitHeartbeatAnd(Integer... codes) throws Exception {
        Wait.until("a heartbeat and requests " + List.of(codes), 20, () -> settled(List.of(codes)));
    }

    private static boolean leavesSubscriptionsOut(RemotingCommand heartbeat) {
        return new String(heartbeat.getBody(), StandardCharsets.UTF_8).contains("\"withoutSub\":true");
    }

    /** Returns when two more heartbeats have been answered; by fingerprint: two that leave the subscriptions out. */
    void awaitTwoHeartbeats(boolean byFingerprint) throws Exception {
        int before = answered(byFingerprint);
        Wait.until("two more heartbeats", 30, () -> answered(byFingerprint) >= before + 2);
    }

    private synchronized int answered(boolean byFingerprint) {
        return byFingerprint ? fingerprints : heartbeats;
    }

    /** Returns when the client has asked for messages. */
    void awaitPull() throws Exception {
        Wait.until("a pull", 20, () -> hasPulled());
    }

    private synchronized boolean hasPulled() {
        return seen.containsKey(PULL_MESSAGE) || seen.containsKey(LITE_PULL_MESSAGE);
    }

    private synchronized boolean settled(List<Integer> codes) {
        return !seen.getOrDefault(HEART_BEAT, Set.of()).isEmpty() && seen.keySet().containsAll(codes);
    }

    synchronized Map<String, Object> codes() {
        Map<String, Object> codes = new TreeMap<>();
        seen.forEach((code, answers) -> {
            List<Object> list = new ArrayList<>(answers);
            codes.put(String.valueOf(code), list);
        });
        return codes;
    }
}
