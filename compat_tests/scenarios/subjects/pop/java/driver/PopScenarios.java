package driver;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageRequestMode;

/** Push consumers of a group that pops: the broker shares queues out, hides messages and puts them back. */
final class PopScenarios {
    private static final int QUEUES = 4;
    private static final double PATIENCE = 60;

    private PopScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("pop_consumed", PopScenarios::consumed);
        scenarios.put("pop_tags", PopScenarios::tags);
        scenarios.put("pop_again", PopScenarios::again);
        scenarios.put("pop_two", PopScenarios::two);
    }

    private static String topic(Context context, int each) throws Exception {
        String topic = context.createTopic("t", QUEUES);
        context.createGroup("g");
        context.api().setMessageRequestMode(
            context.setup.broker, topic, context.group("g"), MessageRequestMode.POP, -1, 15_000);
        for (int queue = 0; queue < QUEUES; queue++) {
            String[] bodies = new String[each];
            for (int i = 0; i < each; i++) {
                bodies[i] = "m" + queue + "-" + i;
            }
            context.fill(topic, queue, queue % 2 == 0 ? "A" : "B", bodies);
        }
        return topic;
    }

    private static DefaultMQPushConsumer consumer(
        Context context, String name, String topic, String tags, Inbox inbox) throws Exception {
        DefaultMQPushConsumer consumer = context.newPush("g", name);
        consumer.setClientRebalance(false);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, tags);
        consumer.registerMessageListener(inbox);
        consumer.start();
        return consumer;
    }

    private static List<String> sorted(Inbox... inboxes) {
        List<String> texts = new ArrayList<>();
        for (Inbox inbox : inboxes) {
            texts.addAll(inbox.texts());
        }
        Collections.sort(texts);
        return texts;
    }

    /** What is there and what comes later, each once, with a handle. */
    private static Object consumed(Context context) throws Exception {
        String topic = topic(context, 5);
        Inbox inbox = new Inbox();
        consumer(context, "c", topic, "*", inbox);
        inbox.await(QUEUES * 5, PATIENCE);
        context.fill(topic, 1, "A", "later-0", "later-1");
        inbox.await(QUEUES * 5 + 2, PATIENCE);
        Wait.aWhile();
        Map<String, Object> seen = new TreeMap<>();
        seen.put("texts", sorted(inbox));
        seen.put("handles", inbox.all().stream().allMatch(message -> message.getProperty("POP_CK") != null));
        seen.put("tries", inbox.all().stream().mapToInt(MessageExt::getReconsumeTimes).sum());
        return seen;
    }

    private static Object tags(Context context) throws Exception {
        String topic = topic(context, 3);
        Inbox inbox = new Inbox();
        consumer(context, "c", topic, "B || C", inbox);
        inbox.await(6, PATIENCE);
        context.fill(topic, 0, "C", "wanted");
        inbox.await(7, PATIENCE);
        Wait.aWhile();
        return sorted(inbox);
    }

    /** A message that fails comes again, from the group's retry topic under the name of its own. */
    private static Object again(Context context) throws Exception {
        String topic = topic(context, 1);
        Set<String> failed = ConcurrentHashMap.newKeySet();
        Inbox inbox = new Inbox(message -> Saw.text(message).equals("m2-0") && failed.add("m2-0"));
        consumer(context, "c", topic, "*", inbox);
        inbox.await(QUEUES + 1, PATIENCE);
        Wait.aWhile();
        MessageExt last = inbox.all().get(QUEUES);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("texts", sorted(inbox));
        seen.put("last", Saw.text(last));
        seen.put("its own topic", last.getTopic().equals(topic));
        seen.put("tries", last.getReconsumeTimes());
        seen.put("first pop known", last.getProperty("1ST_POP_TIME") != null);
        seen.put("its group", last.getProperty("ORIGIN_GROUP").equals(context.group("g")));
        return seen;
    }

    /** Two members, the second of which comes later: nothing is consumed twice, and both get some. */
    private static Object two(Context context) throws Exception {
        String topic = topic(context, 5);
        Inbox first = new Inbox();
        Inbox second = new Inbox();
        consumer(context, "a", topic, "*", first);
        first.await(QUEUES * 5, PATIENCE);
        consumer(context, "b", topic, "*", second);
        int sent = 0;
        while (second.size() == 0 || sent < 20) {
            context.fill(topic, sent % QUEUES, "A", "new-" + sent++);
            if (sent > 5000) {
                throw new AssertionError("the second member gets nothing");
            }
        }
        int all = QUEUES * 5 + sent;
        Wait.until("all messages", PATIENCE, () -> first.size() + second.size() >= all);
        Wait.aWhile();
        List<String> texts = sorted(first, second);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("each once", texts.size() == all && Set.copyOf(texts).size() == all);
        seen.put("both", first.size() > QUEUES * 5 && second.size() > 0);
        return seen;
    }
}
