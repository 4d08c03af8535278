import com.google.common.hash.Hashing;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Prints which of so many buckets Guava chooses, for texts by their hashCode and for whole numbers: JSON rows. */
public final class ConsistentHash {
    private static final int[] BUCKETS = {1, 2, 3, 4, 7, 8, 16, 24, 64, 100, 1000, 65536};
    private static final String[] TEXTS = {
        "a", "group-1", "order-4711", "\u00fc\u4f60\u597d", "\ud83d\ude00", "zzzzzzzz", "polygenelubricants",
        "a-longer-message-group-whose-hash-has-gone-round-many-times"};
    private static final int[] EDGES = {
        0, 1, -1, 2, -2, Integer.MAX_VALUE, Integer.MIN_VALUE, Integer.MIN_VALUE + 1, 123456789, -987654321};

    private ConsistentHash() {
    }

    public static void main(String[] args) {
        List<String> rows = new ArrayList<>();
        for (String text : TEXTS) {
            StringBuilder quoted = new StringBuilder();
            for (char one : text.toCharArray()) {
                quoted.append(one < 128 ? String.valueOf(one) : String.format("\\u%04x", (int) one));
            }
            rows.add(row("\"" + quoted + "\"", text.hashCode()));
        }
        for (int edge : EDGES) {
            rows.add(row(String.valueOf(edge), edge));
        }
        Random random = new Random(7);
        for (int i = 0; i < 120; i++) {
            int value = random.nextInt();
            rows.add(row(String.valueOf(value), value));
        }
        System.out.println("[\n" + String.join(",\n", rows) + "\n]");
    }

    private static String row(String name, int hash) {
        List<String> chosen = new ArrayList<>();
        for (int buckets : BUCKETS) {
            chosen.add("[" + buckets + "," + Hashing.consistentHash((long) hash, buckets) + "]");
        }
        return "[" + name + ",[" + String.join(",", chosen) + "]]";
    }
}
