package driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;

/** What clients have written about a message into a topic of traces, found by the message's id. */
final class Traces {
    static final String TOPIC = "RMQ_SYS_TRACE_TOPIC";
    private static final String ENTRIES = "\u0002";
    private static final String FIELDS = "\u0001";
    private final DefaultMQProducer asker;
    private final String topic;

    Traces(Context context, String topic) throws Exception {
        this.asker = context.producer("asker");
        this.topic = topic;
    }

    /** Every trace of the message when there are so many, sorted: clients write them from several threads. */
    List<List<String>> of(String id, int count) throws Exception {
        Wait.until(count + " traces of " + id + " in " + topic, 40, () -> find(id).size() >= count);
        // For whoever asks in another way.
        System.out.println("TRACED " + topic + " " + id);
        return find(id);
    }

    /** Those that are there. */
    List<List<String>> now(String id) throws Exception {
        return find(id);
    }

    private List<List<String>> find(String id) throws Exception {
        List<List<String>> found = new ArrayList<>();
        Set<String> seen = new TreeSet<>();
        List<MessageExt> messages;
        try {
            messages = asker.queryMessage(topic, id, 64, 0, Long.MAX_VALUE).getMessageList();
        } catch (MQClientException nothingYet) {
            return found;
        }
        for (MessageExt message : messages) {
            // The id is among the keys, and a question may find a message by more than one of them.
            if (seen.add(message.getMsgId())) {
                entries(message, id, found);
            }
        }
        found.sort((one, other) -> one.toString().compareTo(other.toString()));
        return found;
    }

    private static void entries(MessageExt message, String id, List<List<String>> found) {
        for (String entry : Saw.text(message).split(ENTRIES)) {
            List<String> fields = new ArrayList<>(Arrays.asList(entry.split(FIELDS, -1)));
            if (fields.contains(id)) {
                found.add(masked(fields));
            }
        }
    }

    /** Times are masked by whoever compares; this is what else differs from run to run. */
    private static List<String> masked(List<String> fields) {
        switch (fields.get(0)) {
            case "Pub":
                fields.set(10, "<cost>");
                break;
            case "SubBefore":
                fields.set(4, "<request>");
                break;
            case "SubAfter":
                fields.set(1, "<request>");
                fields.set(3, "<cost>");
                break;
            default:
                break;
        }
        return fields;
    }
}
