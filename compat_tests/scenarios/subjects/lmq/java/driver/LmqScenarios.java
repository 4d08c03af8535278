package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Light queues for clients that know nothing of them: a message names them in a property, a pull names one as topic. */
final class LmqScenarios {
    private static final String DISPATCH = "INNER_MULTI_DISPATCH";
    private static final String OFFSETS = "INNER_MULTI_QUEUE_OFFSET";
    private static final int QUEUES = 2;

    private LmqScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("lmq_pulled", LmqScenarios::pulled);
        scenarios.put("lmq_offsets", LmqScenarios::offsets);
    }

    private static String name(Context context, String end) {
        return "%LMQ%" + context.topic(end);
    }

    private static SendResult send(DefaultMQProducer producer, String topic, String body, String... names)
        throws Exception {
        Message message = Context.message(topic, "A", body);
        MessageAccessor.putProperty(message, DISPATCH, String.join(",", names));
        return producer.send(message);
    }

    /** A client that has found the broker of a plain topic: no NameServer knows a light queue. */
    private static DefaultMQPullConsumer consumer(Context context, String topic) throws Exception {
        DefaultMQPullConsumer consumer = context.pull("g", "c");
        consumer.maxOffset(context.queue(topic, 0));
        return consumer;
    }

    private static List<Object> all(DefaultMQPullConsumer consumer, MessageQueue queue, String tags) throws Exception {
        List<Object> seen = new ArrayList<>();
        long offset = 0;
        while (true) {
            PullResult found = consumer.pull(queue, tags, offset, 2);
            seen.add(Json.map("status", found.getPullStatus().name(), "next", found.getNextBeginOffset(),
                "min", found.getMinOffset(), "max", found.getMaxOffset()));
            if (found.getNextBeginOffset() <= offset || found.getMsgFoundList() == null) {
                return seen;
            }
            for (MessageExt message : found.getMsgFoundList()) {
                seen.add(one(message));
            }
            offset = found.getNextBeginOffset();
        }
    }

    private static Map<String, Object> one(MessageExt message) {
        return Json.map("body", Saw.text(message), "tags", message.getTags(),
            "in so many", message.getProperty(DISPATCH).split(",").length, "offsets", message.getProperty(OFFSETS));
    }

    /** Five messages, each in one or two light queues, read from those and from their own topic. */
    private static Object pulled(Context context) throws Exception {
        String topic = context.createTopic("t", QUEUES);
        String even = name(context, "even");
        String all = name(context, "all");
        DefaultMQProducer producer = context.producer("p");
        List<String> sent = new ArrayList<>();
        for (int number = 0; number < 5; number++) {
            String[] names = number % 2 == 0 ? new String[] {even, all} : new String[] {all};
            sent.add(send(producer, topic, "m" + number, names).getSendStatus().name());
        }
        DefaultMQPullConsumer consumer = consumer(context, topic);
        Wait.until("all are in their queue", 20, () -> consumer.maxOffset(context.queue(all, 0)) == 5);
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("sent", sent);
        outcome.put("even", all(consumer, context.queue(even, 0), "*"));
        outcome.put("all", all(consumer, context.queue(all, 0), "*"));
        outcome.put("another tag", all(consumer, context.queue(even, 0), "B"));
        outcome.put("nobody's", Saw.result(() -> all(consumer, context.queue(name(context, "none"), 0), "*")));
        List<String> own = new ArrayList<>();
        for (int queue = 0; queue < QUEUES; queue++) {
            own.addAll(context.readAll(topic, queue).stream().map(Saw::text).collect(Collectors.toList()));
        }
        outcome.put("own", own.stream().sorted().collect(Collectors.toList()));
        return outcome;
    }

    /** A group's progress in a light queue. */
    private static Object offsets(Context context) throws Exception {
        String topic = context.createTopic("t", QUEUES);
        MessageQueue queue = context.queue(name(context, "one"), 0);
        DefaultMQProducer producer = context.producer("p");
        for (int number = 0; number < 3; number++) {
            send(producer, topic, "m" + number, queue.getTopic());
        }
        DefaultMQPullConsumer consumer = consumer(context, topic);
        Wait.until("all are in their queue", 20, () -> consumer.maxOffset(queue) == 3);
        Map<String, Object> outcome = new TreeMap<>();
        String group = context.group("g");
        outcome.put("before", context.committed(group, queue));
        context.createGroup("g");
        context.commit(group, queue, 2);
        outcome.put("behind", context.committed(group, queue));
        outcome.put("another group's", context.committed(context.group("other"), queue));
        outcome.put("min", consumer.minOffset(queue));
        outcome.put("first", consumer.searchOffset(queue, 0));
        outcome.put("last", consumer.searchOffset(queue, Long.MAX_VALUE));
        return outcome;
    }
}
