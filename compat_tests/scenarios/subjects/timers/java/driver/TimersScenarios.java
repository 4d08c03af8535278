package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.producer.RecallMessageHandle;
import org.apache.rocketmq.remoting.InvokeCallback;
import org.apache.rocketmq.remoting.exception.RemotingException;
import org.apache.rocketmq.remoting.netty.ResponseFuture;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.header.RecallMessageRequestHeader;

/** Messages that are delivered to the second, and are taken back before. */
final class TimersScenarios {
    /** From a send to its time: long enough for a recall in between, on a busy machine too. */
    private static final long AHEAD = 6000;

    private static final int TOO_LATE = 604;

    private TimersScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("timer_delivered", TimersScenarios::delivered);
        scenarios.put("timer_many", TimersScenarios::many);
        scenarios.put("timer_due_already", TimersScenarios::dueAlready);
        scenarios.put("timer_refused", TimersScenarios::refused);
        scenarios.put("timer_consumed_again", TimersScenarios::consumedAgain);
        scenarios.put("recall_some", TimersScenarios::recallSome);
        scenarios.put("recall_refused", TimersScenarios::recallRefused);
        scenarios.put("recall_asynchronous", TimersScenarios::recallAsync);
        // A restart is asked for by scenarios that are called so (Control).
        scenarios.put("restart_timers", TimersScenarios::restart);
    }

    private static Message message(String topic, String body) {
        return Context.message(topic, "a", body);
    }

    private static Message at(String topic, String body, long time) {
        Message message = message(topic, body);
        message.setDeliverTimeMs(time);
        return message;
    }

    /** What a sender is told; the wheel's queue is everybody's, so its offset is chance. */
    private static Map<String, Object> sent(SendResult result) throws Exception {
        Map<String, Object> seen = Saw.sent(result);
        String text = result.getRecallHandle();
        if (text == null) {
            seen.put("handle", null);
            return seen;
        }
        seen.remove("queueOffset");
        RecallMessageHandle.HandleV1 handle = (RecallMessageHandle.HandleV1) RecallMessageHandle.decodeHandle(text);
        seen.put("handle", Json.map("version", handle.getVersion(), "topic", handle.getTopic(),
            "broker", handle.getBrokerName(), "time", Long.parseLong(handle.getTimestampStr()),
            "of this message", handle.getMessageId().equals(result.getMsgId())));
        return seen;
    }

    private static Map<String, Object> arrived(MessageExt message) {
        Map<String, Object> seen = Saw.message(message);
        long out = Long.parseLong(message.getProperty(MessageConst.PROPERTY_TIMER_OUT_MS));
        seen.put("not before its slot is over", message.getStoreTimestamp() >= out + 1000);
        // Copies of one write may come in another order.
        seen.remove("queueOffset");
        return seen;
    }

    /** Each way to say when. */
    private static Object delivered(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        DefaultMQProducer producer = context.producer("p");
        Inbox inbox = new Inbox();
        Pushing.awaitHeld(topic, 2, Pushing.start(context.newPush("g", "c"), topic, inbox));
        Map<String, Object> seen = new TreeMap<>();
        Message seconds = message(topic, "seconds");
        seconds.setDelayTimeSec(2);
        seconds.setKeys("k1 k2");
        seconds.putUserProperty("user", "value");
        seen.put("seconds", sent(producer.send(seconds, context.queue(topic, 1))));
        Message millis = message(topic, "milliseconds");
        millis.setDelayTimeMs(2500);
        seen.put("milliseconds", sent(producer.send(millis, context.queue(topic, 0))));
        long time = (System.currentTimeMillis() + 3000) / 1000 * 1000;
        seen.put("whole second", sent(producer.send(at(topic, "time", time), context.queue(topic, 0))));
        inbox.await(3, 30);
        Wait.aWhile();
        List<Map<String, Object>> messages = new ArrayList<>();
        inbox.all().stream().sorted((a, b) -> Saw.text(a).compareTo(Saw.text(b)))
            .forEach(message -> messages.add(arrived(message)));
        seen.put("messages", messages);
        return seen;
    }

    /** Several slots with many messages: all come, none early, none twice. */
    private static Object many(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        DefaultMQProducer producer = context.producer("p");
        Inbox inbox = new Inbox();
        Pushing.start(context.newPush("g", "c"), topic, inbox);
        long begin = System.currentTimeMillis() / 1000 * 1000 + AHEAD;
        int count = 400;
        for (int i = 0; i < count; i++) {
            producer.send(at(topic, String.format("m-%03d", i), begin + i % 4 * 1000 + 500));
        }
        return verdict(inbox, count, 60);
    }

    /** What came of so many messages; the time of each is in its properties. */
    private static Map<String, Object> verdict(Inbox inbox, int count, double seconds) throws Exception {
        boolean complete = Wait.holds(seconds, () -> new TreeSet<>(inbox.texts()).size() >= count);
        Wait.aWhile();
        Set<String> bodies = new TreeSet<>(inbox.texts());
        int early = 0;
        for (MessageExt message : inbox.all()) {
            long time = Long.parseLong(message.getProperty(MessageConst.PROPERTY_TIMER_DELIVER_MS));
            early += message.getStoreTimestamp() < time ? 1 : 0;
        }
        return Json.map("complete", complete, "lost", count - bodies.size(), "early", early);
    }

    private static Object dueAlready(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        Map<String, Object> seen = new TreeMap<>();
        seen.put("in the past", sent(producer.send(at(topic, "past", 1000))));
        Message none = message(topic, "none");
        none.setDelayTimeMs(0);
        seen.put("no delay", sent(producer.send(none)));
        // A level beats it, and has no handle.
        Message level = at(topic, "level", System.currentTimeMillis() + 3_600_000);
        level.setDelayTimeLevel(1);
        Map<String, Object> delayed = sent(producer.send(level));
        delayed.remove("queueOffset");
        seen.put("level", delayed);
        context.awaitEnd(topic, 0, 3);
        seen.put("stored", Saw.messages(context.readAll(topic, 0)));
        return seen;
    }

    private static Object refused(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        Map<String, Object> seen = new TreeMap<>();
        Message days = message(topic, "too far");
        days.setDelayTimeSec(4 * 24 * 3600);
        seen.put("too far", Saw.result(() -> producer.send(days)));
        Message nonsense = message(topic, "nonsense");
        MessageAccessor.putProperty(nonsense, MessageConst.PROPERTY_TIMER_DELAY_SEC, "soon");
        seen.put("no number", Saw.result(() -> producer.send(nonsense)));
        Message late = message(topic, "late");
        MessageAccessor.putProperty(late, MessageConst.PROPERTY_TIMER_DELAY_SEC, "0");
        MessageAccessor.putProperty(late, MessageConst.PROPERTY_TIMER_DEL_UNIQKEY, "U");
        seen.put("delete that is due", Saw.result(() -> producer.send(late)));
        Message batched = message(topic, "batched");
        batched.setDelayTimeSec(5);
        seen.put("in a batch", Saw.result(() -> producer.send(List.of(batched, message(topic, "other")))));
        return seen;
    }

    /** A consumer that wants it again gets it by a level, with what the wheel wrote into it. */
    private static Object consumedAgain(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        Inbox inbox = new Inbox(message -> message.getReconsumeTimes() == 0);
        DefaultMQPushConsumer consumer = Pushing.start(context.newPush("g", "c"), topic, inbox);
        Pushing.awaitHeld(topic, 1, consumer);
        producer.send(at(topic, "again", System.currentTimeMillis() + 2000));
        inbox.await(2, 40);
        List<Map<String, Object>> messages = new ArrayList<>();
        inbox.all().forEach(message -> messages.add(arrived(message)));
        return messages;
    }

    private static Object recallSome(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        DefaultMQProducer producer = context.producer("p");
        Inbox inbox = new Inbox();
        Pushing.start(context.newPush("g", "c"), topic, inbox);
        long time = System.currentTimeMillis() + AHEAD;
        Map<String, Object> seen = new TreeMap<>();
        List<String> taken = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            // Two slots, and two messages of each five are taken back.
            SendResult sent = producer.send(at(topic, String.format("m-%02d", i), time + i % 2 * 1000));
            if (i % 5 < 2) {
                String id = producer.recallMessage(topic, sent.getRecallHandle());
                taken.add(String.valueOf(id.equals(sent.getMsgId())));
            }
        }
        seen.put("taken back", taken);
        producer.send(at(topic, "end", time + 3000));
        inbox.await(13, 40);
        Wait.aWhile();
        seen.put("messages", inbox.texts());
        return seen;
    }

    private static Object recallRefused(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        String other = context.createTopic("other", 1);
        DefaultMQProducer producer = context.producer("p");
        Map<String, Object> seen = new TreeMap<>();
        SendResult sent = producer.send(at(topic, "soon", System.currentTimeMillis() + 1500));
        String handle = sent.getRecallHandle();
        seen.put("no handle", Saw.result(() -> producer.recallMessage(topic, "no handle")));
        seen.put("empty", Saw.result(() -> producer.recallMessage(topic, "")));
        seen.put("another topic", Saw.result(() -> producer.recallMessage(other, handle)));
        String far = RecallMessageHandle.HandleV1.buildHandle(topic, "broker-a",
            String.valueOf(System.currentTimeMillis() + 4L * 24 * 3600 * 1000), "U");
        seen.put("too far", Saw.result(() -> producer.recallMessage(topic, far)));
        context.awaitEnd(topic, 0, 1);
        seen.put("too late", Saw.result(() -> producer.recallMessage(topic, handle)));
        String gone = RecallMessageHandle.HandleV1.buildHandle(topic, "broker-a",
            String.valueOf(System.currentTimeMillis() + 2000), "U");
        seen.put("of no message", Saw.result(() -> producer.recallMessage(topic, gone)));
        return seen;
    }

    private static Object recallAsync(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer producer = context.producer("p");
        Inbox inbox = new Inbox();
        Pushing.start(context.newPush("g", "c"), topic, inbox);
        CountDownLatch done = new CountDownLatch(1);
        List<Object> told = new ArrayList<>();
        long time = System.currentTimeMillis() + AHEAD;
        SendResult sent = producer.send(at(topic, "taken back", time));
        String text = sent.getRecallHandle();
        context.api().recallMessageAsync(context.setup.broker, request(context, topic, text), 15_000,
            new InvokeCallback() {
                @Override
                public void operationComplete(ResponseFuture future) {
                }

                @Override
                public void operationSucceed(RemotingCommand response) {
                    told.add(Json.map("code", response.getCode(), "remark", response.getRemark(), "of this message",
                        sent.getMsgId().equals(response.getExtFields().get("msgId"))));
                    done.countDown();
                }

                @Override
                public void operationFail(Throwable failure) {
                    told.add(Saw.failure(failure));
                    done.countDown();
                }
            });
        done.await(20, TimeUnit.SECONDS);
        producer.send(at(topic, "end", time + 1000));
        inbox.await(1, 40);
        Wait.aWhile();
        return Json.map("told", told, "messages", inbox.texts());
    }

    private static RecallMessageRequestHeader request(Context context, String topic, String handle) {
        RecallMessageRequestHeader header = new RecallMessageRequestHeader();
        header.setProducerGroup(context.group("p"));
        header.setTopic(topic);
        header.setRecallHandle(handle);
        return header;
    }

    /** False when the restart took so long that it is too late. */
    private static boolean isRecalled(DefaultMQProducer producer, String topic, SendResult sent) throws Exception {
        boolean[] recalled = {false};
        Wait.until("recall after the restart", 60, () -> {
            try {
                producer.recallMessage(topic, sent.getRecallHandle());
                recalled[0] = true;
                return true;
            } catch (MQBrokerException refused) {
                return refused.getResponseCode() == TOO_LATE;
            } catch (RemotingException | MQClientException unavailable) {
                return false;
            }
        });
        return recalled[0];
    }

    private static List<MessageExt> all(Context context, String topic) throws Exception {
        return context.readQueues(topic, 0, 1, 2, 3);
    }

    /** Timers that are due before, while and after the broker is down; some are taken back before, some after. */
    private static Object restart(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        DefaultMQProducer producer = context.producer("p");
        long begin = System.currentTimeMillis();
        // Due in this second and each of the next 60: whatever a restart takes, it is in the middle.
        int count = 120;
        Set<String> expected = new TreeSet<>();
        Map<String, SendResult> later = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            String body = String.format("m-%03d", i);
            SendResult sent = producer.send(at(topic, body, begin + 2000 + i * 500L));
            // The last quarter of a minute is taken back: a half before, a half after the restart.
            if (i < 90 || i % 3 == 0) {
                expected.add(body);
            } else if (i % 3 == 1) {
                producer.recallMessage(topic, sent.getRecallHandle());
            } else {
                later.put(body, sent);
            }
        }
        Thread.sleep(3000);
        context.restartServer();
        Set<String> missed = new TreeSet<>();
        for (Map.Entry<String, SendResult> one : later.entrySet()) {
            if (!isRecalled(producer, topic, one.getValue())) {
                missed.add(one.getKey());
            }
        }
        // Not by a consumer that lives through it: whoever connects twice then has half of the queues.
        boolean complete = Wait.holds(90, () -> new TreeSet<>(Saw.texts(all(context, topic))).containsAll(expected));
        Wait.aWhile();
        List<MessageExt> messages = all(context, topic);
        Set<String> seen = new TreeSet<>(Saw.texts(messages));
        int early = 0;
        for (MessageExt message : messages) {
            long time = Long.parseLong(message.getProperty(MessageConst.PROPERTY_TIMER_DELIVER_MS));
            early += message.getStoreTimestamp() < time ? 1 : 0;
        }
        Set<String> recalled = new TreeSet<>(seen);
        recalled.removeAll(expected);
        recalled.removeAll(missed);
        expected.removeAll(seen);
        System.out.println("TOLD restart_timers: twice=" + (messages.size() - seen.size()));
        return Json.map("complete", complete, "lost", expected, "early", early, "recalled, but came", recalled);
    }
}
