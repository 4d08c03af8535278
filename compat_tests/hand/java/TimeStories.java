import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.junit.jupiter.api.Test;

/** Stories in which hours and days pass. */
class TimeStories extends Story {
    private static final int TWO_HOURS = 18;

    @Test
    void orderPaidAfterTwoHours() throws Exception {
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        started(taking(message -> { }));
        begin();
        Message order = message("order 7");
        order.setDelayTimeLevel(TWO_HOURS);
        long sent = rocketmq.millis();
        producer.send(order);
        rocketmq.advance("1h59m");
        assertEquals(List.of(), rocketmq.sent(topic));
        rocketmq.advance("1m");
        MessageExt paid = next();
        assertEquals("order 7", text(paid));
        assertTrue(paid.getStoreTimestamp() - sent >= 2 * 3_600_000);
    }

    @Test
    void sixteenRetriesThenDeadLetter() throws Exception {
        List<Integer> attempts = Collections.synchronizedList(new ArrayList<>());
        MessageListenerConcurrently refuses = (messages, context) -> {
            attempts.add(messages.get(0).getReconsumeTimes());
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        };
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        started(refuses);
        begin();
        producer.send(message("poison"));
        rocketmq.advanceUntil(() -> !rocketmq.deadLetters(group).isEmpty());
        assertEquals(List.of("poison"), rocketmq.deadLetters(group));
        assertEquals(IntStream.rangeClosed(0, 16).boxed().collect(Collectors.toList()), attempts);
    }

    @Test
    void transactionAskedThreeTimes() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        TransactionMQProducer producer = new TransactionMQProducer("bank");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                boolean isDone = asked.incrementAndGet() >= 3;
                return isDone ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.UNKNOW;
            }
        });
        producer(producer);
        started(taking(message -> { }));
        begin();
        producer.sendMessageInTransaction(message("transfer"), null);
        assertEquals(List.of(), rocketmq.sent(topic));
        rocketmq.advanceUntil(() -> !got.isEmpty());
        assertEquals("transfer", text(next()));
        assertEquals(3, asked.get());
    }

    @Test
    void timerRecalled() throws Exception {
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        started(taking(message -> { }));
        begin();
        Message offer = message("offer");
        offer.setDelayTimeSec(86_400);
        Message reminder = message("reminder");
        reminder.setDelayTimeSec(90_000);
        SendResult sent = producer.send(offer);
        producer.send(reminder);
        assertNotNull(producer.recallMessage(topic, sent.getRecallHandle()));
        rocketmq.advance("25h1s");
        assertEquals("reminder", text(next()));
        assertNull(got.poll());
    }

    @Test
    void retentionEatsWhatWasNotRead() throws Exception {
        DefaultMQProducer producer = producer(new DefaultMQProducer("shop"));
        DefaultMQPushConsumer lagging = started(taking(message -> { }));
        producer.send(message("first"));
        assertEquals("first", text(next()));
        // What its listener has done is committed every five seconds, and when it leaves.
        rocketmq.until(() -> offset(lagging) == 1);
        lagging.shutdown();
        producer.setCompressMsgBodyOverHowmuch(1 << 20);
        for (int i = 0; i < 3; i++) {
            producer.send(message("x".repeat(40_000)));
        }
        DefaultMQPushConsumer later = consumer(taking(message -> { }));
        begin();
        rocketmq.advance("96h");
        producer.send(message("last"));
        later.start();
        MessageExt seen = next();
        while (!text(seen).equals("last")) {
            assertTrue(seen.getQueueOffset() > 2, "an old message is still there: " + seen.getQueueOffset());
            seen = next();
        }
        assertEquals(4, seen.getQueueOffset());
    }

    private long offset(DefaultMQPushConsumer consumer) throws Exception {
        MessageQueue queue = consumer.fetchSubscribeMessageQueues(topic).iterator().next();
        return consumer.getDefaultMQPushConsumerImpl().getOffsetStore().readOffset(queue, ReadOffsetType.READ_FROM_MEMORY);
    }
}
