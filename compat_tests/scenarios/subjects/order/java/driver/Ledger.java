package driver;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What was sent of each key, and which member of a group was given it when; says at the end whether order held.
 *
 * <p>A body is "KEY/NUMBER", numbers begin at 0. Members may be given a message twice, by a hand-over or because a
 * send was tried again; nobody may be given a key's message before the one in front of it, and nobody a queue's
 * message whose forerunner nobody has been given.
 */
final class Ledger {
    /** How long a dead owner's lock stands, and what noticing that takes: a rebalance, a lock, a pull. */
    static final double EXPIRY_SECONDS = 60;
    private static final double NOTICED_SECONDS = 15;
    /** How long a client that has lost a queue may still unlock it, and what is needed to notice that. */
    private static final double UNLOCKED_SECONDS = 22;
    private final Map<String, Long> sent = new HashMap<>();
    private final Set<String> given = new HashSet<>();
    private final Map<String, Integer> nextOfKey = new HashMap<>();
    private final Set<String> disordered = new TreeSet<>();
    private final Map<String, Queue> queues = new TreeMap<>();
    private final Map<String, String> inside = new HashMap<>();
    private final Set<String> leaving = new HashSet<>();
    private int together;
    /** When a member was followed by another one in a queue. */
    private final Map<String, Long> lost = new HashMap<>();

    /** One queue's deliveries so far. */
    private static final class Queue {
        private final Map<String, Long> lastOf = new HashMap<>();
        private final List<String> handOvers = new ArrayList<>();
        private String owner;
        private long highest = -1;
        /** When somebody was done with what was new: messages that come again are no progress. */
        private long idleSince;
        private boolean isNew;
        private int skipped;
        private int repeated;
        private double longestWait;
    }

    /** The send was answered: from now on somebody should be given it. */
    synchronized void sent(String body) {
        sent.put(body, System.nanoTime());
    }

    /** A listener of the member begins with a message. */
    synchronized void begins(String who, String queue, long offset, String body) {
        String other = inside.put(queue, who);
        together += other != null && !other.equals(who) && !leaving.contains(other)
            && !mayBeUnlocked(other, queue) ? 1 : 0;
        ofQueue(queue, who, offset, body);
        if (given.add(body)) {
            ofKey(body);
        }
    }

    /**
     * Whether the member lost the queue a moment ago. A client that loses a queue with messages in hand unlocks it 20 s
     * later, also when it has locked it again meanwhile (RebalancePushImpl.unlockDelay): then it works without a lock,
     * on every server.
     */
    private boolean mayBeUnlocked(String who, String queue) {
        Long at = lost.get(who + " " + queue);
        return at != null && System.nanoTime() - at < UNLOCKED_SECONDS * 1e9;
    }

    /**
     * The member is about to be shut down. The client does not wait for its listeners then, and unlocks under them:
     * whether the next owner begins before they end is chance, on every server.
     */
    synchronized void leaves(String who) {
        leaving.add(who);
    }

    /** And is done with it. */
    synchronized void ends(String who, String queue) {
        inside.remove(queue, who);
        Queue of = queues.get(queue);
        of.idleSince = of.isNew ? System.nanoTime() : of.idleSince;
    }

    private void ofKey(String body) {
        String key = body.substring(0, body.indexOf('/'));
        int number = Integer.parseInt(body.substring(body.indexOf('/') + 1));
        if (number != nextOfKey.getOrDefault(key, 0)) {
            disordered.add(key);
        }
        nextOfKey.merge(key, number + 1, Math::max);
    }

    private void ofQueue(String name, String who, long offset, String body) {
        Queue queue = queues.computeIfAbsent(name, key -> new Queue());
        boolean handedOver = !who.equals(queue.owner);
        if (handedOver) {
            queue.handOvers.add(who + "@" + offset);
            lost.put(queue.owner + " " + name, System.nanoTime());
            queue.owner = who;
        }
        long before = queue.lastOf.getOrDefault(who, -1L);
        boolean goesOn = offset <= before + 1 || handedOver && offset <= queue.highest + 1;
        queue.skipped += goesOn ? 0 : 1;
        queue.lastOf.put(who, offset);
        queue.isNew = offset > queue.highest;
        if (!queue.isNew) {
            queue.repeated++;
            return;
        }
        queue.highest = offset;
        Long there = sent.get(body);
        // What is given before its send is answered has not waited.
        if (there != null) {
            double waited = (System.nanoTime() - Math.max(there, queue.idleSince)) / 1e9;
            queue.longestWait = Math.max(queue.longestWait, waited);
        }
    }

    synchronized int size() {
        return given.size();
    }

    synchronized boolean isComplete() {
        return given.containsAll(sent.keySet());
    }

    /** Whether the member was the last that was given something of the queue. */
    synchronized boolean isOwner(String who, String queue) {
        return queues.containsKey(queue) && who.equals(queues.get(queue).owner);
    }

    synchronized boolean hasQueues(int count) {
        return queues.size() == count;
    }

    /** Whether the member has got every queue that anybody was given something of. */
    synchronized boolean ownsAll(String who) {
        return queues.values().stream().allMatch(queue -> who.equals(queue.owner));
    }

    /** What is compared between servers: nothing of it depends on chance, where owners have locks. */
    synchronized Map<String, Object> verdict() {
        Set<String> missing = new TreeSet<>(sent.keySet());
        missing.removeAll(given);
        List<String> stuck = new ArrayList<>();
        queues.forEach((name, queue) -> {
            if (queue.longestWait > EXPIRY_SECONDS + NOTICED_SECONDS) {
                stuck.add(name);
            }
        });
        return Json.map("never given", missing, "keys out of order", disordered,
            "messages that an owner left out", queues.values().stream().mapToInt(queue -> queue.skipped).sum(),
            "queues stuck for longer than a lock stands", stuck);
    }

    /** How often two members were at work on one queue: never, while the broker that has the locks lives. */
    synchronized int together() {
        return together;
    }

    /** For people: what depends on chance. */
    synchronized void tell(String scenario) {
        StringBuilder text = new StringBuilder();
        queues.forEach((name, queue) -> text.append(String.format(
            "TOLD %s %s: %d messages, %d given again, longest wait %.1f s, owners%s%n", scenario, name,
            queue.highest + 1, queue.repeated, queue.longestWait, owners(queue.handOvers))));
        System.out.print(text);
    }

    private static String owners(List<String> handOvers) {
        StringBuilder text = new StringBuilder();
        handOvers.stream().limit(12).forEach(one -> text.append(' ').append(one));
        return handOvers.size() > 12 ? text + " ... (" + handOvers.size() + ")" : text.toString();
    }
}
