package driver;

/** Waiting for something to become true, with a limit. */
final class Wait {
    @FunctionalInterface
    interface Condition {
        boolean holds() throws Exception;
    }

    private Wait() {
    }

    static boolean holds(double seconds, Condition condition) throws Exception {
        long deadline = System.nanoTime() + (long) (seconds * 1e9);
        while (!condition.holds()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            Thread.sleep(10);
        }
        return true;
    }

    static void until(String what, double seconds, Condition condition) throws Exception {
        if (!holds(seconds, condition)) {
            throw new AssertionError("not within " + seconds + " s: " + what);
        }
    }

    /** Time for something to go wrong: a duplicate, a message that should not come. */
    static void aWhile() throws InterruptedException {
        Thread.sleep(700);
    }
}
