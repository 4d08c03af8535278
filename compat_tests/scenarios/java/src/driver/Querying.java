package driver;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages by their keys, and one message by the id that its producer gave it. */
final class Querying {
    private static final long EVER = Long.MAX_VALUE;

    private Querying() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("query_by_key", Querying::byKey);
        scenarios.put("query_by_unique_key", Querying::byUniqueKey);
    }

    private static Object byKey(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        DefaultMQProducer producer = context.producer("p");
        send(context, producer, topic, "first", "one all");
        send(context, producer, topic, "second", "two all");
        // These two have one hash: the client tells them apart.
        send(context, producer, topic, "third", "Aa");
        send(context, producer, topic, "fourth", "BB");
        send(context, producer, topic, "fifth", "all last");
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        Wait.until("the index", 10, () -> found(consumer, topic, "last", 32, 0, EVER) instanceof List);
        Map<String, Object> seen = new LinkedHashMap<>();
        for (String key : new String[] {"all", "one", "Aa", "BB", "none", ""}) {
            seen.put("key " + key, found(consumer, topic, key, 32, 0, EVER));
        }
        seen.put("two at most", found(consumer, topic, "all", 2, 0, EVER));
        seen.put("none wanted", found(consumer, topic, "all", 0, 0, EVER));
        seen.put("long ago", found(consumer, topic, "all", 32, 0, 1_000_000_000_000L));
        seen.put("in the future", found(consumer, topic, "all", 32, 8_000_000_000_000L, EVER));
        seen.put("another topic", found(consumer, context.topic("none"), "all", 32, 0, EVER));
        seen.put("by the producer", Saw.result(() -> producer.queryMessage(topic, "one", 32, 0, EVER)
            .getMessageList().size()));
        QueryResult result = consumer.queryMessage(topic, "one", 32, 0, EVER);
        seen.put("as new as the message", result.getIndexLastUpdateTimestamp()
            >= result.getMessageList().get(0).getStoreTimestamp());
        return seen;
    }

    private static Object byUniqueKey(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        DefaultMQProducer producer = context.producer("p");
        List<SendResult> sent = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            sent.add(send(context, producer, topic, "message " + i, "key" + i));
        }
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        String last = sent.get(2).getMsgId();
        Wait.until("the index", 10, () -> view(consumer, topic, last) instanceof Map);
        Map<String, Object> seen = new LinkedHashMap<>();
        for (SendResult one : sent) {
            seen.put("message " + sent.indexOf(one), view(consumer, topic, one.getMsgId()));
        }
        seen.put("by its place", view(consumer, topic, sent.get(0).getOffsetMsgId()));
        seen.put("of another topic", Saw.result(() -> consumer.viewMessage(context.topic("none"), last)));
        seen.put("by no id", Saw.result(() -> consumer.viewMessage(topic, "none")));
        return seen;
    }

    private static SendResult send(Context context, DefaultMQProducer producer, String topic, String body, String keys)
        throws Exception {
        Message message = Context.message(topic, "a", body);
        message.setKeys(keys);
        return producer.send(message, context.queue(topic, 0));
    }

    /** The messages in the order of the answer, or how it failed. */
    private static Object found(DefaultMQPullConsumer consumer, String topic, String key, int most, long begin, long end) {
        return Saw.result(() -> {
            List<String> texts = new ArrayList<>();
            for (MessageExt message : consumer.queryMessage(topic, key, most, begin, end).getMessageList()) {
                texts.add(Saw.text(message) + " " + message.getKeys());
            }
            return texts;
        });
    }

    private static Object view(DefaultMQPullConsumer consumer, String topic, String id) {
        return Saw.result(() -> {
            MessageExt message = consumer.viewMessage(topic, id);
            return message == null ? null : Saw.message(message);
        });
    }
}
