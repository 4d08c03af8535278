package orders;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.exception.RemotingException;

/**
 * Orders are placed, can be cancelled for two hours, and are charged then. A bank that is away is asked again, with
 * growing pauses; after the last time, the order has failed.
 */
public final class Orders implements AutoCloseable {
    public enum State { PLACED, CANCELLED, CHARGING, PAID, FAILED }

    static final String TOPIC = "OrdersToCharge";
    static final String GROUP = "charging";
    private static final int SECONDS_TO_CANCEL = 2 * 60 * 60;
    /** The pauses are RocketMQ's: 10 s, 30 s, 1 min, 2 min, 3 min. */
    private static final int MORE_ATTEMPTS = 5;
    private static final int SEND_MILLIS = 1000;

    private final Map<String, State> states = new ConcurrentHashMap<>();
    private final Bank bank;
    private final DefaultMQProducer producer = new DefaultMQProducer("placing");
    private final DefaultMQPushConsumer charging = new DefaultMQPushConsumer(GROUP);
    private final DefaultMQPushConsumer burying = new DefaultMQPushConsumer("burying");

    public Orders(String namesrvAddr, Bank bank) throws MQClientException {
        this.bank = bank;
        producer.setNamesrvAddr(namesrvAddr);
        producer.setSendMsgTimeout(SEND_MILLIS);
        producer.start();
        charging.setMaxReconsumeTimes(MORE_ATTEMPTS);
        consume(charging, namesrvAddr, TOPIC, this::charge);
        consume(burying, namesrvAddr, "%DLQ%" + GROUP, this::bury);
    }

    private static void consume(DefaultMQPushConsumer consumer, String namesrvAddr, String topic,
            MessageListenerConcurrently listener) throws MQClientException {
        consumer.setNamesrvAddr(namesrvAddr);
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.subscribe(topic, "*");
        consumer.setMessageListener(listener);
        consumer.start();
    }

    /** The order, if it was placed. */
    public State state(String order) { return states.get(order); }

    /** It will be charged, unless it is cancelled. */
    public void place(String order) throws Exception {
        Message message = new Message(TOPIC, "", order, order.getBytes(UTF_8));
        message.setDelayTimeSec(SECONDS_TO_CANCEL);
        states.put(order, State.PLACED);
        try {
            producer.send(message);
        } catch (RemotingException noAnswer) {
            // The broker may have it already: then there are two, of which the second finds the order paid.
            producer.send(message);
        }
    }

    /** Whether it was in time. */
    public boolean cancel(String order) { return states.replace(order, State.PLACED, State.CANCELLED); }

    private ConsumeConcurrentlyStatus charge(List<MessageExt> messages, ConsumeConcurrentlyContext context) {
        String order = text(messages.get(0));
        // Another thread may have the same order at this moment.
        if (!states.replace(order, State.PLACED, State.CHARGING)) return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        try {
            bank.charge(order);
        } catch (Exception away) {
            states.put(order, State.PLACED);
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        }
        states.put(order, State.PAID);
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    }

    /** What could not be charged, however often it was tried. */
    private ConsumeConcurrentlyStatus bury(List<MessageExt> messages, ConsumeConcurrentlyContext context) {
        states.replace(text(messages.get(0)), State.PLACED, State.FAILED);
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    }

    private static String text(MessageExt message) { return new String(message.getBody(), UTF_8); }

    @Override public void close() {
        producer.shutdown();
        charging.shutdown();
        burying.shutdown();
    }
}
