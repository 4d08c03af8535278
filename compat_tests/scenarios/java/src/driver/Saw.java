package driver;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.consumer.PullResultExt;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Turns what the client's API returned or threw into an outcome: every field that an application can read. */
final class Saw {
    @FunctionalInterface
    interface Call {
        Object run() throws Exception;
    }

    private Saw() {
    }

    static Map<String, Object> sent(SendResult result) {
        if (result == null) {
            return null;
        }
        MessageQueue queue = result.getMessageQueue();
        return Json.map(
            "status", result.getSendStatus(),
            "topic", queue.getTopic(),
            "broker", queue.getBrokerName(),
            "queueId", queue.getQueueId(),
            "queueOffset", result.getQueueOffset(),
            "msgId", result.getMsgId(),
            "offsetMsgId", result.getOffsetMsgId(),
            "transactionId", result.getTransactionId(),
            "regionId", result.getRegionId(),
            "traceOn", result.isTraceOn());
    }

    static Map<String, Object> message(MessageExt message) {
        return Json.map(
            "topic", message.getTopic(),
            "broker", message.getBrokerName(),
            "queueId", message.getQueueId(),
            "queueOffset", message.getQueueOffset(),
            "tags", message.getTags(),
            "keys", message.getKeys(),
            "flag", message.getFlag(),
            "sysFlag", message.getSysFlag(),
            "reconsumeTimes", message.getReconsumeTimes(),
            "properties", new TreeMap<>(message.getProperties()),
            "body", body(message.getBody()),
            "bodyCRC", message.getBodyCRC(),
            "storeSize", message.getStoreSize(),
            "preparedTransactionOffset", message.getPreparedTransactionOffset(),
            "msgId", message.getMsgId(),
            "transactionId", message.getTransactionId(),
            "waitStoreMsgOK", message.isWaitStoreMsgOK(),
            "delayTimeLevel", message.getDelayTimeLevel(),
            "bornHost", String.valueOf(message.getBornHost()),
            "storeHost", String.valueOf(message.getStoreHost()),
            "storedAfterBorn", message.getStoreTimestamp() >= message.getBornTimestamp());
    }

    static String text(MessageExt message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }

    /** Sorted by queue and offset: between queues there is no order. */
    static List<Map<String, Object>> messages(List<MessageExt> messages) {
        return inQueueOrder(messages).stream().map(Saw::message).collect(Collectors.toList());
    }

    static List<MessageExt> inQueueOrder(List<MessageExt> messages) {
        List<MessageExt> sorted = new ArrayList<>(messages);
        sorted.sort(Comparator.comparing(MessageExt::getTopic).thenComparing(MessageExt::getBrokerName)
            .thenComparing(MessageExt::getQueueId).thenComparing(MessageExt::getQueueOffset));
        return sorted;
    }

    /** Bodies sorted: which came first differs between queues and threads. */
    static List<String> texts(List<MessageExt> messages) {
        return messages.stream().map(Saw::text).sorted().collect(Collectors.toList());
    }

    private static Object body(byte[] body) {
        if (body == null) {
            return null;
        }
        if (body.length <= 200) {
            return new String(body, StandardCharsets.UTF_8);
        }
        CRC32 crc = new CRC32();
        crc.update(body);
        return Json.map("length", body.length, "crc32", crc.getValue());
    }

    static Map<String, Object> pulled(PullResult result) {
        Map<String, Object> seen = Json.map(
            "status", result.getPullStatus(),
            "nextBeginOffset", result.getNextBeginOffset(),
            "minOffset", result.getMinOffset(),
            "maxOffset", result.getMaxOffset(),
            "found", result.getMsgFoundList() == null ? null
                : result.getMsgFoundList().stream().map(MessageExt::getQueueOffset).collect(Collectors.toList()));
        if (result instanceof PullResultExt) {
            seen.put("suggestWhichBrokerId", ((PullResultExt) result).getSuggestWhichBrokerId());
        }
        return seen;
    }

    static String queue(MessageQueue queue) {
        return queue.getTopic() + "/" + queue.getBrokerName() + "/" + queue.getQueueId();
    }

    static List<String> queues(Iterable<MessageQueue> queues) {
        List<String> names = new ArrayList<>();
        queues.forEach(queue -> names.add(queue(queue)));
        names.sort(null);
        return names;
    }

    /** What a call returned, or how it failed. */
    static Object result(Call call) {
        try {
            Object value = call.run();
            return value instanceof SendResult ? sent((SendResult) value)
                : value instanceof PullResult ? pulled((PullResult) value)
                : value;
        } catch (Throwable failure) {
            return failure(failure);
        }
    }

    static Map<String, Object> failure(Throwable failure) {
        Throwable real = failure instanceof ExecutionException ? failure.getCause() : failure;
        Map<String, Object> seen = Json.map("thrown", real.getClass().getSimpleName());
        if (real instanceof MQBrokerException) {
            seen.put("responseCode", ((MQBrokerException) real).getResponseCode());
            seen.put("errorMessage", ((MQBrokerException) real).getErrorMessage());
            seen.put("brokerAddr", ((MQBrokerException) real).getBrokerAddr());
        } else if (real instanceof MQClientException) {
            seen.put("responseCode", ((MQClientException) real).getResponseCode());
            seen.put("errorMessage", ((MQClientException) real).getErrorMessage());
        }
        seen.put("message", Arrays.asList(String.valueOf(real.getMessage()).split("\n")));
        if (real.getCause() != null && real.getCause() != real) {
            seen.put("cause", failure(real.getCause()));
        }
        return seen;
    }
}
