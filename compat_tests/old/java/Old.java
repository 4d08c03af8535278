import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** The mqadmin and the client of an old version: a line of words, with tabs between, is a request. */
public class Old {
    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ByteArrayOutputStream taken = new ByteArrayOutputStream();
            PrintStream into = new PrintStream(taken, true, "UTF-8");
            System.setOut(into);
            System.setErr(into);
            String[] words = line.split("\t");
            try {
                if (words[0].equals("client")) {
                    System.out.println(client(words[1], words[2], words[3], Integer.parseInt(words[4])));
                } else {
                    MQAdminStartup.main0(words, null);
                }
            } catch (Throwable failure) {
                failure.printStackTrace(into);
            }
            into.flush();
            answers.println("= " + taken.size());
            taken.writeTo(answers);
            answers.flush();
        }
    }

    private static String client(String namesrv, String topic, String group, int number) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group + "_P");
        producer.setNamesrvAddr(namesrv);
        producer.setSendMsgTimeout(20000);
        producer.start();
        for (int i = 0; i < number; i++) {
            producer.send(new Message(topic, "tag", "key" + i, ("body" + i).getBytes("UTF-8")));
        }
        producer.shutdown();
        Set<String> got = new ConcurrentSkipListSet<>();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (List<org.apache.rocketmq.common.message.MessageExt> some,
            org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext context) -> {
            some.forEach(one -> got.add(one.getKeys()));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long end = System.currentTimeMillis() + 90000;
        while (got.size() < number && System.currentTimeMillis() < end) {
            Thread.sleep(50);
        }
        consumer.shutdown();
        return "got " + got.size() + " of " + number;
    }
}
