package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;

/** Traces that clients write of what they do: ordinary messages in a topic of the broker's, or one of the user's. */
final class TraceScenarios {
    private TraceScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("trace_send", context -> send(context, Traces.TOPIC));
        scenarios.put("trace_send_own_topic", context -> send(context, context.topic("traces")));
        scenarios.put("trace_consume", TraceScenarios::consume);
        scenarios.put("trace_transaction", TraceScenarios::transaction);
        scenarios.put("trace_recall", TraceScenarios::recall);
    }

    private static DefaultMQProducer producer(Context context, String traces) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(null, context.group("p"), null, true, traces);
        context.configure(producer, "p");
        producer.setSendMsgTimeout(15_000);
        producer.start();
        return producer;
    }

    private static Object send(Context context, String traces) throws Exception {
        String topic = context.createTopic("t", 2);
        Traces asked = new Traces(context, traces);
        DefaultMQProducer producer = producer(context, traces);
        Map<String, Object> seen = new TreeMap<>();
        try {
            Message plain = Context.message(topic, "TagA", "plain");
            plain.setKeys("one two");
            seen.put("plain", asked.of(producer.send(plain, context.queue(topic, 0)).getMsgId(), 1));
            Message delayed = Context.message(topic, null, "delayed");
            delayed.setDelayTimeLevel(1);
            seen.put("delayed", asked.of(producer.send(delayed, context.queue(topic, 0)).getMsgId(), 1));
            Message ordered = Context.message(topic, "TagB", "ordered");
            seen.put("ordered", asked.of(producer.send(ordered, (queues, message, arg) -> queues.get(1), 1)
                .getMsgId(), 1));
            Message refused = Context.message(topic, "TagC", "refused");
            seen.put("why", Saw.result(() -> producer.send(refused, context.queue(topic, 99))));
            // A send that got no result leaves no trace: the next one's is there, and its own is not.
            asked.of(producer.send(Context.message(topic, "TagD", "the next one")).getMsgId(), 1);
            seen.put("refused", asked.now(refused.getProperty("UNIQ_KEY")));
        } finally {
            producer.shutdown();
        }
        // Where the broker does not make it at its start, the first trace does.
        seen.put("route", context.route(traces));
        return seen;
    }

    private static Object consume(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Traces asked = new Traces(context, Traces.TOPIC);
        DefaultMQProducer producer = producer(context, Traces.TOPIC);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(null, context.group("g"), null,
            new AllocateMessageQueueAveragely(), true, null);
        context.configure(consumer, "c");
        // Sent at once: one that has stored nothing yet would begin behind it.
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.subscribe(topic, "*");
        Inbox inbox = new Inbox(message -> Saw.text(message).equals("again") && message.getReconsumeTimes() == 0);
        consumer.setMessageListener(inbox);
        Map<String, Object> seen = new TreeMap<>();
        try {
            consumer.start();
            Message good = Context.message(topic, "TagA", "good");
            good.setKeys("k");
            // The sending, and before and after each consumption.
            seen.put("consumed", asked.of(producer.send(good).getMsgId(), 3));
            Message again = Context.message(topic, "TagA", "again");
            seen.put("consumed again", asked.of(producer.send(again).getMsgId(), 5));
        } finally {
            consumer.shutdown();
            producer.shutdown();
        }
        return seen;
    }

    private static Object transaction(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Traces asked = new Traces(context, Traces.TOPIC);
        TransactionMQProducer producer = new TransactionMQProducer(null, context.group("p"), null, true, null);
        context.configure(producer, "p");
        Map<String, LocalTransactionState> states = new ConcurrentHashMap<>();
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                return (LocalTransactionState) arg;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return states.getOrDefault(Saw.text(message), LocalTransactionState.UNKNOW);
            }
        });
        Map<String, Object> seen = new TreeMap<>();
        try {
            producer.start();
            for (LocalTransactionState state : LocalTransactionState.values()) {
                Message message = Context.message(topic, "TagA", "half " + state);
                message.setKeys("k");
                // The half message and its end.
                SendResult sent = producer.sendMessageInTransaction(message, state);
                seen.put("ended with " + state, asked.of(sent.getMsgId(), 2));
            }
        } finally {
            producer.shutdown();
        }
        return seen;
    }

    /** 5.x clients only. */
    private static Object recall(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Traces asked = new Traces(context, Traces.TOPIC);
        DefaultMQProducer producer = producer(context, Traces.TOPIC);
        List<Object> seen = new ArrayList<>();
        try {
            Message later = Context.message(topic, "TagA", "later");
            MessageAccessor.putProperty(later, "TIMER_DELAY_SEC", "3600");
            SendResult sent = producer.send(later);
            Object handle = SendResult.class.getMethod("getRecallHandle").invoke(sent);
            Object recalled = DefaultMQProducer.class.getMethod("recallMessage", String.class, String.class)
                .invoke(producer, topic, handle);
            seen.add(Json.map("the recalled one", sent.getMsgId().equals(recalled)));
            seen.add(asked.of(sent.getMsgId(), 2));
        } finally {
            producer.shutdown();
        }
        return seen;
    }
}
