package driver;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.remoting.protocol.body.ClusterInfo;
import org.apache.rocketmq.remoting.protocol.body.LockBatchRequestBody;
import org.apache.rocketmq.remoting.protocol.body.UnlockBatchRequestBody;
import org.apache.rocketmq.remoting.protocol.header.QueryConsumerOffsetRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.UpdateConsumerOffsetRequestHeader;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.remoting.protocol.route.TopicRouteData;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageQueue;

/** Classes that moved between the 4.x and the 5.x client, behind one face. */
final class Compat {
    private static final int TOPIC_NOT_EXIST = 17;
    private static final long TIMEOUT = 15_000;

    private Compat() {
    }

    static void broadcasting(DefaultMQPushConsumer consumer) {
        consumer.setMessageModel(MessageModel.BROADCASTING);
    }

    /** 5.x clients can send their heartbeat as a fingerprint; whether this one can. */
    static boolean fingerprintHeartbeats(ClientConfig client) {
        client.setUseHeartbeatV2(true);
        return true;
    }

    /** Sends a heartbeat with the subscriptions, unless another one of this client is just under way. */
    static void tellSubscriptions(DefaultMQPushConsumer consumer) {
        consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().sendHeartbeatToAllBrokerWithLockV2(true);
    }

    static void createGroup(MQClientAPIImpl api, String broker, String group, Map<String, Object> settings)
        throws Exception {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        for (Map.Entry<String, Object> setting : settings.entrySet()) {
            switch (setting.getKey()) {
                case "consumeEnable":
                    config.setConsumeEnable((Boolean) setting.getValue());
                    break;
                case "consumeBroadcastEnable":
                    config.setConsumeBroadcastEnable((Boolean) setting.getValue());
                    break;
                case "retryQueueNums":
                    config.setRetryQueueNums((Integer) setting.getValue());
                    break;
                case "retryMaxTimes":
                    config.setRetryMaxTimes((Integer) setting.getValue());
                    break;
                default:
                    throw new IllegalArgumentException(setting.getKey());
            }
        }
        api.createSubscriptionGroup(broker, config, TIMEOUT);
    }

    static Map<String, Object> route(MQClientAPIImpl api, String topic) throws Exception {
        TopicRouteData route;
        try {
            route = api.getTopicRouteInfoFromNameServer(topic, TIMEOUT);
        } catch (MQClientException failure) {
            if (failure.getResponseCode() == TOPIC_NOT_EXIST) {
                return null;
            }
            throw failure;
        }
        List<Map<String, Object>> queues = route.getQueueDatas().stream().map(queue -> Json.map(
            "broker", queue.getBrokerName(), "read", queue.getReadQueueNums(), "write", queue.getWriteQueueNums(),
            "perm", queue.getPerm(), "topicSysFlag", queue.getTopicSysFlag())).collect(Collectors.toList());
        List<Map<String, Object>> brokers = route.getBrokerDatas().stream().map(broker -> Json.map(
            "cluster", broker.getCluster(), "name", broker.getBrokerName(),
            "addresses", new TreeMap<>(broker.getBrokerAddrs()))).collect(Collectors.toList());
        // The NameServer keeps both in hash order.
        queues.sort(Comparator.comparing(queue -> (String) queue.get("broker")));
        brokers.sort(Comparator.comparing(broker -> (String) broker.get("name")));
        return Json.map("queues", queues, "brokers", brokers, "orderTopicConf", route.getOrderTopicConf(),
            "filterServers", route.getFilterServerTable());
    }

    static List<String> lock(MQClientAPIImpl api, String broker, String group, String client, Set<MessageQueue> queues)
        throws Exception {
        LockBatchRequestBody body = new LockBatchRequestBody();
        body.setConsumerGroup(group);
        body.setClientId(client);
        body.setMqSet(queues);
        return Saw.queues(new ArrayList<>(api.lockBatchMQ(broker, body, TIMEOUT)));
    }

    static void unlock(MQClientAPIImpl api, String broker, String group, String client, Set<MessageQueue> queues)
        throws Exception {
        UnlockBatchRequestBody body = new UnlockBatchRequestBody();
        body.setConsumerGroup(group);
        body.setClientId(client);
        body.setMqSet(queues);
        api.unlockBatchMQ(broker, body, TIMEOUT, false);
    }

    static void commit(MQClientAPIImpl api, String broker, String group, MessageQueue queue, long offset)
        throws Exception {
        UpdateConsumerOffsetRequestHeader header = new UpdateConsumerOffsetRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(queue.getTopic());
        header.setQueueId(queue.getQueueId());
        header.setCommitOffset(offset);
        api.updateConsumerOffset(broker, header, TIMEOUT);
    }

    static long committed(MQClientAPIImpl api, String broker, String group, MessageQueue queue) throws Exception {
        QueryConsumerOffsetRequestHeader header = new QueryConsumerOffsetRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(queue.getTopic());
        header.setQueueId(queue.getQueueId());
        return api.queryConsumerOffset(broker, header, TIMEOUT);
    }

    static void withBatchQueues(TopicConfig config) {
        config.setAttributes(Map.of("+queue.type", "BatchCQ"));
    }

    static void createTopic(DefaultMQProducer producer, String key, String topic, int queues) throws Exception {
        producer.createTopic(key, topic, queues, Map.of());
    }

    /** Cluster info: per broker its cluster, name and the ids of its addresses. */
    static Map<String, Object> cluster(MQClientAPIImpl api) throws Exception {
        Map<String, Object> seen = new TreeMap<>();
        ClusterInfo info = api.getBrokerClusterInfo(TIMEOUT);
        info.getBrokerAddrTable().forEach((name, broker) -> seen.put(name, Json.map(
            "cluster", broker.getCluster(), "ids", new ArrayList<>(broker.getBrokerAddrs().keySet()))));
        info.getClusterAddrTable().forEach((name, brokers) ->
            seen.put("cluster " + name, brokers.stream().sorted().collect(Collectors.toList())));
        return seen;
    }

    /** The masters' addresses by broker name. */
    static Map<String, String> brokerAddresses(MQClientAPIImpl api) throws Exception {
        Map<String, String> addresses = new TreeMap<>();
        api.getBrokerClusterInfo(TIMEOUT).getBrokerAddrTable().forEach(
            (name, broker) -> addresses.put(name, broker.getBrokerAddrs().get(0L)));
        return addresses;
    }
}
