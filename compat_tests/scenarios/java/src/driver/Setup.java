package driver;

import java.nio.file.Path;
import java.util.Map;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** What all scenarios of one driver process share: addresses, the run's id, an admin connection, the control folder. */
final class Setup implements AutoCloseable {
    final String run;
    final String namesrv;
    final String broker;
    final boolean tls;
    final Control control;
    private final DefaultMQProducer admin;

    Setup(Map<String, String> options) throws Exception {
        run = options.get("run");
        namesrv = options.get("namesrv");
        broker = options.get("broker");
        tls = options.containsKey("tls");
        Path folder = options.containsKey("control") ? Path.of(options.get("control")) : null;
        control = new Control(folder, options.getOrDefault("how", "restart"));
        admin = new DefaultMQProducer(run + "_admin");
        configure(admin, "admin");
        admin.start();
    }

    void configure(ClientConfig client, String name) {
        client.setNamesrvAddr(namesrv);
        client.setInstanceName(run + "-" + name);
        // Clients sort members of a group by client id, which starts with the address of the machine.
        client.setClientIP("127.0.0.1");
        // Half a minute by default: a scenario must not wait that long for a retry topic's route.
        client.setPollNameServerInterval(1000);
        // As long by default: a 5.x client that just took over queues may be refused until its next heartbeat.
        client.setHeartbeatBrokerInterval(2000);
        // Three seconds by default: not a machine's fault when it is busy.
        client.setMqClientApiTimeout(15_000);
        client.setUseTLS(tls);
    }

    MQClientAPIImpl api() {
        return admin.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
    }

    @Override
    public void close() {
        admin.shutdown();
    }
}
