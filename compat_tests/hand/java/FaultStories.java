import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.consumer.AckCallback;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PopCallback;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingException;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ChangeInvisibleTimeRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ExtraInfoUtil;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;
import org.junit.jupiter.api.Test;

/** Stories in which a client, the broker, its disk or an answer fails. */
class FaultStories extends Story {
    private static final int SERVICE_NOT_AVAILABLE = 14;

    @Test
    void anotherTakesOverFromASlowOne() throws Exception {
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        MessageListenerConcurrently stuck = (messages, context) -> {
            taken.countDown();
            try {
                ends.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        };
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        DefaultMQPushConsumer slow = consumer(stuck);
        slow.setInstanceName("slow");
        slow.start();
        producer.send(message("order 7"));
        taken.await();
        DefaultMQPushConsumer other = consumer(taking(message -> { }));
        other.setInstanceName("slower than the other");
        other.start();
        begin();
        // Its machine is gone: no heartbeat comes any more.
        rocketmq.call("faults/fail", "requests", "heartbeats", "client", "*@slow", "code", "SYSTEM_BUSY");
        rocketmq.dropConnections("*@slow");
        MessageExt seen = next();
        ends.countDown();
        assertEquals("order 7", text(seen));
        assertEquals(0, seen.getReconsumeTimes());
    }

    @Test
    void sendTimedOutButStored() throws Exception {
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        producer.setSendMsgTimeout(300);
        producer.setRetryTimesWhenSendFailed(0);
        Message order = new Message(topic, "paid", "order-7", "order 7".getBytes());
        started(taking(message -> { }));
        begin();
        rocketmq.loseAnswer();
        assertThrows(Exception.class, () -> producer.send(order));
        // The client closes the connection on which it waited in vain, and may do so under this one.
        producer.setRetryTimesWhenSendFailed(2);
        producer.send(order);
        assertEquals(List.of("order 7", "order 7"), rocketmq.waitFor(topic, 2));
        MessageExt first = next();
        MessageExt again = next();
        assertEquals("order-7", first.getKeys());
        assertEquals("order-7", again.getKeys());
        assertEquals(1, again.getQueueOffset() - first.getQueueOffset());
    }

    @Test
    void brokerRestartsAmongOrderedMessages() throws Exception {
        CountDownLatch half = new CountDownLatch(5);
        MessageListenerOrderly listener = (messages, context) -> {
            got.addAll(messages);
            messages.forEach(message -> half.countDown());
            return ConsumeOrderlyStatus.SUCCESS;
        };
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        DefaultMQPushConsumer consumer = started(listener);
        MessageQueue queue = consumer.fetchSubscribeMessageQueues(topic).iterator().next();
        begin();
        for (int i = 0; i < 5; i++) {
            producer.send(message("step " + i), queue);
        }
        half.await();
        rocketmq.kill();
        Message next = message("step 5");
        assertThrows(RemotingException.class, () -> producer.send(next, queue));
        rocketmq.restart();
        for (int i = 5; i < 10; i++) {
            Message step = message("step " + i);
            rocketmq.until(() -> isSent(producer, step, queue));
        }
        List<String> seen = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            seen.add(text(next()));
        }
        assertEquals(IntStream.range(0, 10).mapToObj(i -> "step " + i).collect(toList()), seen);
    }

    private static boolean isSent(DefaultMQProducer producer, Message message, MessageQueue queue) throws Exception {
        try {
            return producer.send(message, queue).getSendStatus() == SendStatus.SEND_OK;
        } catch (RemotingException | MQClientException away) {
            return false;
        }
    }

    @Test
    void fullDiskThenRoom() throws Exception {
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        started(taking(message -> { }));
        begin();
        rocketmq.fullDisk();
        Exception refused = assertThrows(MQClientException.class, () -> producer.send(message("too much")));
        assertEquals(SERVICE_NOT_AVAILABLE, ((MQBrokerException) refused.getCause()).getResponseCode());
        rocketmq.clearFaults();
        producer.send(message("fits"));
        assertEquals("fits", text(next()));
        assertEquals(List.of("fits"), rocketmq.sent(topic));
    }

    /** By the requests that the client's POP consumers send: they renew no message themselves. */
    @Test
    void popRenewedForAnHour() throws Exception {
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        MQClientAPIImpl api = producer.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
        begin();
        MessageQueue queue = producer.send(message("long work")).getMessageQueue();
        String broker = producer.getDefaultMQProducerImpl().getMqClientFactory()
            .findBrokerAddressInPublish(queue.getBrokerName());
        MessageExt work = popped(api, queue, broker).get(0);
        String handle = work.getProperty(MessageConst.PROPERTY_POP_CK);
        for (int i = 0; i < 60; i++) {
            rocketmq.advance("59s");
            handle = renewed(api, queue, broker, work, handle);
        }
        rocketmq.advance("59s");
        assertEquals(List.of(), popped(api, queue, broker));
        // Nobody renews it any more.
        rocketmq.advance("10s");
        MessageExt again = popped(api, queue, broker).get(0);
        assertEquals("long work", text(again));
        assertEquals(1, again.getReconsumeTimes());
        acknowledged(api, queue, broker, again);
        rocketmq.waitUntilConsumed(group);
    }

    private List<MessageExt> popped(MQClientAPIImpl api, MessageQueue queue, String broker) throws Exception {
        PopMessageRequestHeader header = new PopMessageRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(-1);
        header.setMaxMsgNums(1);
        header.setInvisibleTime(60_000);
        header.setPollTime(0);
        header.setBornTime(System.currentTimeMillis());
        header.setInitMode(1);
        CompletableFuture<PopResult> answer = new CompletableFuture<>();
        api.popMessageAsync(queue.getBrokerName(), broker, header, 3000, new PopCallback() {
            @Override
            public void onSuccess(PopResult result) {
                answer.complete(result);
            }

            @Override
            public void onException(Throwable error) {
                answer.completeExceptionally(error);
            }
        });
        List<MessageExt> found = answer.get().getMsgFoundList();
        return found == null ? List.of() : found;
    }

    private String renewed(MQClientAPIImpl api, MessageQueue queue, String broker, MessageExt work, String handle)
        throws Exception {
        ChangeInvisibleTimeRequestHeader header = new ChangeInvisibleTimeRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(work.getQueueId());
        header.setOffset(work.getQueueOffset());
        header.setExtraInfo(handle);
        header.setInvisibleTime(60_000L);
        Answer answer = new Answer();
        api.changeInvisibleTimeAsync(queue.getBrokerName(), broker, header, 3000, answer);
        return answer.get().getExtraInfo();
    }

    private void acknowledged(MQClientAPIImpl api, MessageQueue queue, String broker, MessageExt work) throws Exception {
        String handle = work.getProperty(MessageConst.PROPERTY_POP_CK);
        AckMessageRequestHeader header = new AckMessageRequestHeader();
        header.setConsumerGroup(group);
        // What comes again is in the retry topic.
        header.setTopic(ExtraInfoUtil.getRealTopic(ExtraInfoUtil.split(handle), topic, group));
        header.setQueueId(work.getQueueId());
        header.setOffset(work.getQueueOffset());
        header.setExtraInfo(handle);
        Answer answer = new Answer();
        api.ackMessageAsync(broker, 3000, answer, header);
        answer.get();
    }

    private static final class Answer extends CompletableFuture<AckResult> implements AckCallback {
        @Override
        public void onSuccess(AckResult result) {
            complete(result);
        }

        @Override
        public void onException(Throwable error) {
            completeExceptionally(error);
        }
    }
}
