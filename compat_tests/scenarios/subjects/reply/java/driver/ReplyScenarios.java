package driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Request-reply: what requesters and repliers see, and what is stored of the replies. */
final class ReplyScenarios {
    private static final String CORRELATION = "CORRELATION_ID";
    private static final String REPLY_TO = "REPLY_TO_CLIENT";
    private static final String REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC";
    private static final long PATIENCE = 60_000;

    private ReplyScenarios() {
    }

    static void register(Map<String, Scenario> scenarios) {
        scenarios.put("reply_sync", ReplyScenarios::sync);
        scenarios.put("reply_async", ReplyScenarios::async);
        scenarios.put("reply_queue_choice", ReplyScenarios::queueChoice);
        scenarios.put("reply_ways", ReplyScenarios::ways);
        scenarios.put("reply_bodies", ReplyScenarios::bodies);
        scenarios.put("reply_properties", ReplyScenarios::properties);
        scenarios.put("reply_timeout", ReplyScenarios::timeout);
        scenarios.put("reply_late", ReplyScenarios::late);
        scenarios.put("reply_requester_gone", ReplyScenarios::requesterGone);
        scenarios.put("reply_errors", ReplyScenarios::errors);
        scenarios.put("restart_reply", ReplyScenarios::restart);
    }

    private static Object sync(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Replier replier = Replier.start(context, topic, (request, producer) ->
            producer.send(Replier.reply(request, "answer to " + Saw.text(request))));
        DefaultMQProducer requester = requester(context);
        List<Object> replies = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Message request = Context.message(topic, "ask", "question-" + i);
            request.setKeys("k" + i);
            replies.add(seen(requester.request(request, PATIENCE), request));
        }
        List<Object> asked = replier.requests().stream().map(one -> seen(one, one)).collect(Collectors.toList());
        return Json.map("requests", asked, "replies", replies, "replier", withoutPlaces(replier.seen(3)),
            "stored", stored(context, requester, 3));
    }

    private static Object async(Context context) throws Exception {
        String topic = context.createTopic("t", 2);
        Replier replier = Replier.start(context, topic, (request, producer) ->
            producer.send(Replier.reply(request, "answer to " + Saw.text(request))).getSendStatus());
        DefaultMQProducer requester = requester(context);
        List<CompletableFuture<Message>> replies = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            replies.add(ask(requester, Context.message(topic, "ask", "question-" + i)));
        }
        List<String> texts = new ArrayList<>();
        for (CompletableFuture<Message> reply : replies) {
            texts.add(new String(reply.get(60, TimeUnit.SECONDS).getBody()));
        }
        return Json.map("replies", texts, "replier", replier.seen(20),
            "stored", texts(stored(context, requester, 20)));
    }

    /**
     * One that the broker knows already, if it says who it is by itself: 4.x clients do, and when one is just doing
     * so as it asks, replies may come too early to find it. Those of 5.x do it with their first request.
     */
    private static DefaultMQProducer requester(Context context) throws Exception {
        DefaultMQProducer requester = context.producer("requester");
        Wait.holds(5, () -> {
            try {
                var members = context.api().getProducerConnectionList(context.setup.broker,
                    requester.getProducerGroup(), 15_000);
                return !members.getConnectionSet().isEmpty();
            } catch (MQBrokerException notYet) {
                return false;
            }
        });
        return requester;
    }

    private static CompletableFuture<Message> ask(DefaultMQProducer requester, Message request) throws Exception {
        CompletableFuture<Message> reply = new CompletableFuture<>();
        requester.request(request, callback(reply), PATIENCE);
        return reply;
    }

    private static RequestCallback callback(CompletableFuture<Message> reply) {
        return new RequestCallback() {
            @Override
            public void onSuccess(Message message) {
                // The client calls as soon as the request is sent, too: with nothing.
                if (message != null) {
                    reply.complete(message);
                }
            }

            @Override
            public void onException(Throwable failure) {
                reply.completeExceptionally(failure);
            }
        };
    }

    /** The requester chooses the queue of its request, in every way that there is. */
    private static Object queueChoice(Context context) throws Exception {
        String topic = context.createTopic("t", 4);
        Replier.start(context, topic, (request, producer) ->
            producer.send(Replier.reply(request, Saw.text(request) + " in " + request.getQueueId())));
        DefaultMQProducer requester = requester(context);
        List<String> texts = new ArrayList<>();
        texts.add(text(requester.request(Context.message(topic, "ask", "selector"),
            (queues, message, arg) -> queues.get((Integer) arg), 2, PATIENCE)));
        texts.add(text(requester.request(Context.message(topic, "ask", "queue"), context.queue(topic, 3), PATIENCE)));
        CompletableFuture<Message> selected = new CompletableFuture<>();
        requester.request(Context.message(topic, "ask", "async selector"),
            (queues, message, arg) -> queues.get((Integer) arg), 1, callback(selected), PATIENCE);
        texts.add(text(selected.get(60, TimeUnit.SECONDS)));
        CompletableFuture<Message> chosen = new CompletableFuture<>();
        requester.request(Context.message(topic, "ask", "async queue"), context.queue(topic, 0), callback(chosen),
            PATIENCE);
        texts.add(text(chosen.get(60, TimeUnit.SECONDS)));
        return texts;
    }

    /** The replier sends in every way that there is. */
    private static Object ways(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Replier replier = Replier.start(context, topic, (request, producer) -> {
            Message reply = Replier.reply(request, "by " + Saw.text(request));
            switch (Saw.text(request)) {
                case "oneway":
                    producer.sendOneway(reply);
                    return "told nothing";
                case "callback":
                    return sendWithCallback(producer, reply);
                case "queue":
                    return producer.send(reply, context.queue(REPLY_TOPIC, 0));
                default:
                    return producer.send(reply, 5000);
            }
        });
        DefaultMQProducer requester = requester(context);
        List<String> texts = new ArrayList<>();
        for (String way : List.of("oneway", "callback", "queue", "timeout")) {
            texts.add(text(requester.request(Context.message(topic, "ask", way), PATIENCE)));
        }
        return Json.map("replies", texts, "replier", withoutPlaces(replier.seen(4)),
            "stored", stored(context, requester, 4));
    }

    private static Object sendWithCallback(DefaultMQProducer producer, Message reply) throws Exception {
        CompletableFuture<Object> sent = new CompletableFuture<>();
        producer.send(reply, new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                sent.complete(Saw.sent(result));
            }

            @Override
            public void onException(Throwable failure) {
                sent.complete(Saw.failure(failure));
            }
        });
        return sent.get(60, TimeUnit.SECONDS);
    }

    /** What clients compress reaches the requester as it was, and the topic as it came. */
    private static Object bodies(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Replier.start(context, topic, (request, producer) ->
            producer.send(Replier.reply(request, "abcdefgh".repeat(Integer.parseInt(Saw.text(request)) / 8))));
        DefaultMQProducer requester = requester(context);
        List<Object> replies = new ArrayList<>();
        for (int size : new int[] {8, 4096, 4104, 1_000_000}) {
            Message request = Context.message(topic, "ask", "" + size);
            replies.add(seen(requester.request(request, PATIENCE), request));
        }
        return Json.map("replies", replies, "stored", stored(context, requester, 4));
    }

    private static Object properties(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        Replier replier = Replier.start(context, topic, (request, producer) -> {
            Message reply = Replier.reply(request, "answer");
            reply.setTags("TagR");
            reply.setKeys(List.of("one", "two"));
            reply.setFlag(77);
            reply.setWaitStoreMsgOK(false);
            reply.putUserProperty("of the application", "a value");
            if (Saw.text(request).equals("delayed")) {
                reply.setDelayTimeLevel(1);
            }
            return producer.send(reply);
        });
        DefaultMQProducer requester = requester(context);
        List<Object> replies = new ArrayList<>();
        // The requester has a delayed reply at once; the topic has it later.
        for (String text : List.of("plain", "delayed")) {
            Message request = Context.message(topic, "ask", text);
            request.putUserProperty("of the request", "stays there");
            replies.add(seen(requester.request(request, PATIENCE), request));
        }
        List<Object> sent = withoutPlaces(replier.seen(2));
        return Json.map("replies", replies, "replier", sent, "stored", stored(context, requester, 2));
    }

    /** Nobody replies. */
    private static Object timeout(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer requester = requester(context);
        Object sync = Saw.result(() -> requester.request(Context.message(topic, "ask", "anybody?"), 4000));
        CompletableFuture<Message> reply = new CompletableFuture<>();
        requester.request(Context.message(topic, "ask", "anybody there?"), callback(reply), 4000);
        Object async = Saw.result(() -> reply.get(60, TimeUnit.SECONDS));
        context.awaitEnd(topic, 0, 2);
        return Json.map("sync", sync, "async", async, "stored", Saw.texts(context.readAll(topic, 0)));
    }

    /** A reply that comes when the requester has given up: it takes it, and nobody gets it. */
    private static Object late(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        CountDownLatch givenUp = new CountDownLatch(1);
        Replier replier = Replier.start(context, topic, (request, producer) -> {
            givenUp.await();
            return producer.send(Replier.reply(request, "too late"));
        });
        DefaultMQProducer requester = requester(context);
        Object asked = Saw.result(() -> requester.request(Context.message(topic, "ask", "quickly"), 4000));
        replier.awaitRequests(1);
        givenUp.countDown();
        return Json.map("asked", asked, "replier", withoutPlaces(replier.seen(1)),
            "stored", stored(context, requester, 1));
    }

    private static Object requesterGone(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        CountDownLatch gone = new CountDownLatch(1);
        Replier replier = Replier.start(context, topic, (request, producer) -> {
            gone.await();
            Message reply = Replier.reply(request, "to nobody");
            Object once = Saw.result(() -> producer.send(reply));
            producer.setRetryTimesWhenSendFailed(2);
            return Json.map("once", once, "thrice", Saw.result(() -> producer.send(reply)));
        });
        DefaultMQProducer requester = requester(context);
        CompletableFuture<Message> nothing = ask(requester, Context.message(topic, "ask", "leaving"));
        Wait.until("the request has come", 60, () -> nothing.isDone() || !replier.requests().isEmpty());
        requester.shutdown();
        gone.countDown();
        return Json.map("asked", nothing.isDone() ? Saw.result(nothing::get) : "unanswered", "replier", replier.seen(1),
            "stored", stored(context, requester, 4));
    }

    /** Replies that the broker or the client refuses. */
    private static Object errors(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        DefaultMQProducer requester = requester(context);
        Replier replier = Replier.start(context, topic, (request, producer) -> {
            Map<String, Object> seen = new TreeMap<>();
            Message nobody = Replier.reply(request, "names nobody");
            nobody.getProperties().remove(REPLY_TO);
            seen.put("names nobody", Saw.result(() -> producer.send(nobody)));
            Message other = Replier.reply(request, "another client");
            other.getProperties().put(REPLY_TO, "nobody@" + context.setup.run);
            seen.put("another client", Saw.result(() -> producer.send(other)));
            Message elsewhere = Replier.reply(request, "elsewhere");
            elsewhere.setTopic("TRANS_CHECK_MAX_TIME_TOPIC");
            seen.put("a topic that is not for senders", Saw.result(() -> producer.send(elsewhere)));
            Message missing = Replier.reply(request, "missing");
            missing.setTopic(context.topic("missing"));
            seen.put("a topic that is missing", Saw.result(() -> {
                Map<String, Object> sent = Saw.sent(producer.send(missing));
                // The client begins its round anywhere.
                sent.remove("queueId");
                return sent;
            }));
            return seen;
        });
        Object empty = Saw.result(() -> requester.request(new Message(topic, "ask", new byte[0]), 3000));
        Message request = Context.message(topic, "ask", "question");
        Message reply = requester.request(request, PATIENCE);
        return Json.map("no body", empty, "what came in the end", text(reply), "replier", replier.seen(1),
            "of no request", Saw.result(() -> Replier.reply(new MessageExt(), "x")));
    }

    /** The broker restarts between request and reply. */
    private static Object restart(Context context) throws Exception {
        String topic = context.createTopic("t", 1);
        CountDownLatch restarted = new CountDownLatch(1);
        Replier replier = Replier.start(context, topic, (request, producer) -> {
            if (!Saw.text(request).equals("over the restart")) {
                return producer.send(Replier.reply(request, "answer to " + Saw.text(request))).getSendStatus();
            }
            restarted.await();
            Message reply = Replier.reply(request, "answer to " + Saw.text(request));
            // Both clients have to connect again, the requester has to say who it is.
            List<Object> sent = new ArrayList<>();
            Wait.until("a reply goes through", 60, () -> {
                try {
                    return sent.add(producer.send(reply, 3000).getSendStatus());
                } catch (Exception notYet) {
                    return false;
                }
            });
            return sent;
        });
        DefaultMQProducer requester = requester(context);
        String before = text(requester.request(Context.message(topic, "ask", "before"), PATIENCE));
        stored(context, requester, 1);
        CompletableFuture<Message> reply = new CompletableFuture<>();
        requester.request(Context.message(topic, "ask", "over the restart"), callback(reply), 200_000);
        replier.awaitRequests(2);
        context.restartServer();
        restarted.countDown();
        String over = text(reply.get(100, TimeUnit.SECONDS));
        String after = text(requester.request(Context.message(topic, "ask", "after"), PATIENCE));
        List<Object> stored = texts(stored(context, requester, 3)).stream().distinct().collect(Collectors.toList());
        return Json.map("replies", List.of(before, over, after), "replier", replier.seen(3), "stored", stored);
    }

    // What is seen of replies.

    private static String text(Message message) {
        return new String(message.getBody());
    }

    /** The id that joins request and reply is random: whether it is the request's. */
    private static Map<String, Object> seen(Message message, Message request) {
        Map<String, Object> seen = Saw.message((MessageExt) message);
        mask(seen, request.getProperty(CORRELATION));
        return seen;
    }

    @SuppressWarnings("unchecked")
    private static void mask(Map<String, Object> seen, String correlation) {
        Map<String, String> properties = (Map<String, String>) seen.get("properties");
        boolean same = correlation != null && correlation.equals(properties.get(CORRELATION));
        properties.put(CORRELATION, same ? "the request's" : "not the request's");
    }

    /** All share the reply topic: offsets there depend on the others. */
    @SuppressWarnings("unchecked")
    private static List<Object> withoutPlaces(List<Object> seen) {
        for (Object one : seen) {
            if (one instanceof Map) {
                ((Map<String, Object>) one).remove("queueOffset");
            }
        }
        return seen;
    }

    /** The stored replies to this requester, in their order; repliers put the correlation of some request into each. */
    private static List<Object> stored(Context context, DefaultMQProducer requester, int count) throws Exception {
        String client = requester.buildMQClientId();
        List<MessageExt> found = new ArrayList<>();
        Wait.until(count + " stored replies", 20, () -> {
            found.clear();
            for (MessageExt message : context.readAll(REPLY_TOPIC, 0)) {
                if (client.equals(message.getProperty(REPLY_TO))) {
                    found.add(message);
                }
            }
            return found.size() >= count;
        });
        List<Object> seen = new ArrayList<>();
        for (MessageExt message : found) {
            Map<String, Object> one = Saw.message(message);
            one.remove("queueOffset");
            mask(one, message.getProperty(CORRELATION));
            ((Map<?, ?>) one.get("properties")).remove("MAX_OFFSET");
            seen.add(one);
        }
        return seen;
    }

    private static List<Object> texts(List<Object> stored) {
        return stored.stream().map(one -> ((Map<?, ?>) one).get("body")).sorted().collect(Collectors.toList());
    }
}
