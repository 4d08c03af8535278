import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Traffic of the official client, for the recording proxy of record.py: as many request codes as a short run can show. */
public class Golden {
    static final String TOPIC = "GoldenTopic";
    static final String BATCH = "GoldenBatch";
    static String namesrv;
    static String broker;

    public static void main(String[] args) {
        namesrv = args[0];
        broker = args[1];
        try {
            run();
        } catch (Exception failure) {
            failure.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    static void run() throws Exception {
        admin();
        List<SendResult> sent = producing();
        transactions();
        concurrently();
        orderly();
        pulling(sent.get(0));
        litePulling();
        retrieval(sent.get(0));
    }

    static byte[] text(String body) {
        return body.getBytes(StandardCharsets.UTF_8);
    }

    static void admin() throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt();
        admin.setNamesrvAddr(namesrv);
        admin.setInstanceName("golden-admin");
        admin.setClientIP("127.0.0.1");
        admin.start();
        admin.createAndUpdateTopicConfig(broker, new TopicConfig(TOPIC, 2, 2, 6));
        admin.createAndUpdateTopicConfig(broker, new TopicConfig(BATCH, 1, 1, 6));
        // There before the consumer asks for its route, so that it need not wait for the next look 30 s later.
        admin.createAndUpdateTopicConfig(broker, new TopicConfig("%RETRY%GoldenGroup", 1, 1, 6));
        SubscriptionGroupConfig group = new SubscriptionGroupConfig();
        group.setGroupName("GoldenGroup");
        admin.createAndUpdateSubscriptionGroupConfig(broker, group);
        Thread.sleep(1500);
        admin.examineBrokerClusterInfo();
        admin.fetchAllTopicList();
        admin.examineTopicRouteInfo(TOPIC);
        admin.examineTopicConfig(broker, TOPIC);
        admin.fetchTopicsByCLuster("DefaultCluster");
        admin.getAllTopicConfig(broker, 3000);
        admin.getAllSubscriptionGroup(broker, 3000);
        admin.examineTopicStats(TOPIC);
        admin.createAndUpdateKvConfig("GOLDEN", "key", "value");
        admin.getKVConfig("GOLDEN", "key");
        admin.getKVListByNamespace("GOLDEN");
        admin.deleteKvConfig("GOLDEN", "key");
        expect(() -> admin.getKVConfig("GOLDEN", "key"));
        expect(() -> admin.examineTopicRouteInfo("NoSuchTopic"));
        admin.shutdown();
    }

    static List<SendResult> producing() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("GoldenProducer");
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("golden-producer");
        producer.setClientIP("127.0.0.1");
        producer.start();
        List<SendResult> sent = new ArrayList<>();
        Message plain = new Message(TOPIC, "TagA", "key1 key2", text("hello"));
        plain.putUserProperty("user", "value");
        plain.setFlag(7);
        sent.add(producer.send(plain));
        sent.add(producer.send(new Message(TOPIC, "TagB", text("second"))));
        sent.add(producer.send(new Message(TOPIC, text("no tag"))));
        sent.add(producer.send(new Message(TOPIC, "TagA", "Schlüssel", text("grüße 你好"))));
        sent.add(producer.send(new Message(TOPIC, "TagC", text("x".repeat(5000)))));
        Message delayed = new Message(TOPIC, "TagD", text("delayed"));
        delayed.setDelayTimeLevel(1);
        sent.add(producer.send(delayed));
        CountDownLatch done = new CountDownLatch(1);
        producer.send(new Message(TOPIC, "TagA", text("asynchronous")), new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                done.countDown();
            }

            @Override
            public void onException(Throwable error) {
                done.countDown();
            }
        });
        done.await(5, TimeUnit.SECONDS);
        producer.sendOneway(new Message(TOPIC, "TagA", text("one way")));
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            batch.add(new Message(BATCH, "TagA", "batch" + i, text("item " + i)));
        }
        producer.send(batch);
        Message timed = new Message(TOPIC, "TagT", text("timed"));
        timed.setDelayTimeSec(2);
        producer.send(timed);
        producer.send(new Message("GoldenAutoCreated", "TagA", text("creates its topic")));
        expect(() -> producer.send(new Message("SCHEDULE_TOPIC_XXXX", text("forbidden"))));
        producer.shutdown();
        return sent;
    }

    static void transactions() throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("GoldenTransactions");
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("golden-transactions");
        producer.setClientIP("127.0.0.1");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return (LocalTransactionState) argument;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        producer.start();
        producer.sendMessageInTransaction(
            new Message(TOPIC, "TagX", text("committed")), LocalTransactionState.COMMIT_MESSAGE);
        producer.sendMessageInTransaction(
            new Message(TOPIC, "TagX", text("rolled back")), LocalTransactionState.ROLLBACK_MESSAGE);
        producer.shutdown();
    }

    static void concurrently() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("GoldenGroup");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("golden-push");
        consumer.setClientIP("127.0.0.1");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(1);
        consumer.subscribe(TOPIC, "TagA || TagB || TagD");
        CountDownLatch retried = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (messages.get(0).getReconsumeTimes() > 0) {
                retried.countDown();
            }
            context.setDelayLevelWhenNextConsume(1);
            return "TagB".equals(messages.get(0).getTags())
                ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        DefaultMQPushConsumer second = new DefaultMQPushConsumer("GoldenGroup");
        second.setNamesrvAddr(namesrv);
        second.setInstanceName("golden-push-2");
        second.setClientIP("127.0.0.1");
        second.subscribe(TOPIC, "TagA || TagB || TagD");
        second.setMaxReconsumeTimes(1);
        second.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            context.setDelayLevelWhenNextConsume(1);
            return "TagB".equals(messages.get(0).getTags())
                ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        retried.await(25, TimeUnit.SECONDS);
        Thread.sleep(1000);
        second.start();
        Thread.sleep(1500);
        second.shutdown();
        consumer.shutdown();
    }

    static void orderly() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("GoldenOrderly");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("golden-orderly");
        consumer.setClientIP("127.0.0.1");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(BATCH, "*");
        CountDownLatch all = new CountDownLatch(3);
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            messages.forEach(message -> all.countDown());
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        all.await(30, TimeUnit.SECONDS);
        consumer.shutdown();
    }

    @SuppressWarnings("deprecation")
    static void pulling(SendResult sent) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("GoldenPull");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("golden-pull");
        consumer.setClientIP("127.0.0.1");
        consumer.start();
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(TOPIC);
        for (MessageQueue queue : queues) {
            consumer.pull(queue, "*", 0, 32);
            consumer.pull(queue, "TagNobody", 0, 32);
            consumer.pull(queue, "*", 1000, 32);
            consumer.maxOffset(queue);
            consumer.minOffset(queue);
            consumer.earliestMsgStoreTime(queue);
            consumer.searchOffset(queue, System.currentTimeMillis() - 1000);
            consumer.updateConsumeOffset(queue, 1);
            consumer.fetchConsumeOffset(queue, false);
        }
        consumer.viewMessage(TOPIC, sent.getOffsetMsgId());
        consumer.shutdown();
    }

    static void litePulling() throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("GoldenLite");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("golden-lite");
        consumer.setClientIP("127.0.0.1");
        consumer.setAutoCommit(false);
        consumer.start();
        MessageQueue queue = new MessageQueue(TOPIC, "broker-a", 0);
        consumer.assign(Collections.singletonList(queue));
        consumer.seekToBegin(queue);
        consumer.poll(3000);
        consumer.commit();
        consumer.shutdown();
    }

    static void retrieval(SendResult sent) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt();
        admin.setNamesrvAddr(namesrv);
        admin.setInstanceName("golden-admin-2");
        admin.setClientIP("127.0.0.1");
        admin.start();
        admin.queryMessage(TOPIC, "key1", 10, 0, System.currentTimeMillis() + 1000);
        admin.viewMessage(TOPIC, sent.getMsgId());
        expect(() -> admin.examineConsumeStats("GoldenGroup"));
        admin.wipeWritePermOfBroker(namesrv, "broker-nobody");
        admin.addWritePermOfBroker(namesrv, "broker-nobody");
        admin.deleteTopicInBroker(Collections.singleton(broker), "GoldenAutoCreated");
        admin.deleteTopicInNameServer(Collections.singleton(namesrv), null, "GoldenAutoCreated");
        admin.shutdown();
    }

    interface Call {
        Object run() throws Exception;
    }

    /** The refusal is what gets recorded, so it must come, and from the server. */
    static void expect(Call call) throws Exception {
        try {
            call.run();
        } catch (MQClientException | MQBrokerException refused) {
            return;
        }
    }
}
