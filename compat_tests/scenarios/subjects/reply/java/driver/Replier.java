package driver;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Answers requests: a push consumer, with a producer that sends the replies. Each request is answered once. */
final class Replier implements MessageListenerConcurrently {
    @FunctionalInterface
    interface Answer {
        /** Replies to a request; what it returns is what the replier saw. */
        Object to(MessageExt request, DefaultMQProducer producer) throws Exception;
    }

    final DefaultMQProducer producer;
    private final Answer answer;
    private final List<MessageExt> requests = new ArrayList<>();
    private final List<Object> seen = new ArrayList<>();

    private Replier(DefaultMQProducer producer, Answer answer) {
        this.producer = producer;
        this.answer = answer;
    }

    static Replier start(Context context, String topic, Answer answer) throws Exception {
        DefaultMQProducer producer = context.newProducer("replier");
        // One that fails is sent again otherwise, and stored again.
        producer.setRetryTimesWhenSendFailed(0);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.start();
        Replier replier = new Replier(producer, answer);
        DefaultMQPushConsumer consumer = context.newPush("repliers", "repliers");
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.subscribe(topic, "*");
        consumer.setMessageListener(replier);
        consumer.start();
        return replier;
    }

    static Message reply(MessageExt request, String body) throws Exception {
        return MessageUtil.createReplyMessage(request, body.getBytes());
    }

    @Override
    public ConsumeConcurrentlyStatus consumeMessage(List<MessageExt> batch, ConsumeConcurrentlyContext context) {
        for (MessageExt request : batch) {
            if (isNew(request)) {
                Object result = Saw.result(() -> answer.to(request, producer));
                synchronized (this) {
                    seen.add(result);
                }
            }
        }
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    }

    /** A restart brings those again whose consumption had not been committed. */
    private synchronized boolean isNew(MessageExt request) {
        for (MessageExt one : requests) {
            if (one.getMsgId().equals(request.getMsgId())) {
                return false;
            }
        }
        return requests.add(request);
    }

    void awaitRequests(int count) throws Exception {
        Wait.until(count + " requests", 60, () -> requests().size() >= count);
    }

    synchronized List<MessageExt> requests() {
        return new ArrayList<>(requests);
    }

    /** What became of the replies, when there are so many. */
    List<Object> seen(int count) throws Exception {
        Wait.until(count + " replies", 60, () -> size() >= count);
        synchronized (this) {
            return new ArrayList<>(seen);
        }
    }

    private synchronized int size() {
        return seen.size();
    }
}
