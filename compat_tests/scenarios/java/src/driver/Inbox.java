package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer's listener that remembers what came; the predicate says which messages are to come again. */
final class Inbox implements MessageListenerConcurrently {
    private final List<MessageExt> messages = new ArrayList<>();
    private final Predicate<MessageExt> later;

    Inbox() {
        this(message -> false);
    }

    Inbox(Predicate<MessageExt> later) {
        this.later = later;
    }

    @Override
    public ConsumeConcurrentlyStatus consumeMessage(List<MessageExt> batch, ConsumeConcurrentlyContext context) {
        boolean again = false;
        for (MessageExt message : batch) {
            synchronized (this) {
                messages.add(message);
            }
            again |= later.test(message);
        }
        return again ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    }

    synchronized List<MessageExt> all() {
        return new ArrayList<>(messages);
    }

    synchronized int size() {
        return messages.size();
    }

    void await(int count, double seconds) throws Exception {
        Wait.until(count + " messages, not " + size(), seconds, () -> size() >= count);
    }

    /** For each queue the bodies in the order of their offsets. */
    Map<String, List<String>> byQueue() {
        return Saw.inQueueOrder(all()).stream().collect(Collectors.groupingBy(
            message -> message.getBrokerName() + "/" + message.getQueueId(), TreeMap::new,
            Collectors.mapping(Saw::text, Collectors.toList())));
    }

    List<String> texts() {
        return Saw.texts(all());
    }
}
