import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Reads a topic from its beginning with one of the official pull consumers and prints one JSON line.
 *
 * <p>The rate counts from the first request to the last message. Arguments: namesrv topic count lite|plain
 */
public final class Pull {
    public static void main(String[] args) throws Exception {
        long count = Long.parseLong(args[2]);
        long[] result = args[3].equals("lite") ? lite(args, count) : plain(args, count);
        double seconds = result[1] / 1e9;
        System.out.printf("{\"messages\":%d,\"bytes\":%d,\"seconds\":%.4f}%n", count, result[0], seconds);
        System.out.flush();
        System.exit(0);
    }

    private static long[] lite(String[] args, long count) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("bench_pull");
        consumer.setNamesrvAddr(args[0]);
        consumer.setAutoCommit(false);
        consumer.setPullBatchSize(32);
        consumer.start();
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchMessageQueues(args[1]));
        long began = System.nanoTime();
        consumer.assign(queues);
        for (MessageQueue queue : queues) {
            consumer.seek(queue, 0);
        }
        long bytes = 0;
        for (long seen = 0; seen < count; ) {
            for (MessageExt message : consumer.poll(1000)) {
                seen++;
                bytes += message.getBody().length;
            }
        }
        return new long[] {bytes, System.nanoTime() - began};
    }

    private static long[] plain(String[] args, long count) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("bench_pull");
        consumer.setNamesrvAddr(args[0]);
        consumer.start();
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(args[1]);
        long began = System.nanoTime();
        long bytes = 0;
        for (MessageQueue queue : queues) {
            long offset = 0;
            while (true) {
                PullResult pulled = consumer.pull(queue, "*", offset, 32);
                if (pulled.getMsgFoundList() == null || pulled.getMsgFoundList().isEmpty()) {
                    break;
                }
                for (MessageExt message : pulled.getMsgFoundList()) {
                    bytes += message.getBody().length;
                }
                offset = pulled.getNextBeginOffset();
            }
        }
        return new long[] {bytes, System.nanoTime() - began};
    }
}
