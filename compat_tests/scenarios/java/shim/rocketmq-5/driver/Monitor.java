package driver;

import java.lang.reflect.Field;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.logging.ch.qos.logback.classic.Level;
import org.apache.rocketmq.logging.ch.qos.logback.classic.Logger;
import org.apache.rocketmq.logging.ch.qos.logback.classic.spi.ILoggingEvent;
import org.apache.rocketmq.logging.ch.qos.logback.core.read.ListAppender;
import org.apache.rocketmq.logging.org.slf4j.LoggerFactory;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.apache.rocketmq.tools.monitor.DefaultMonitorListener;
import org.apache.rocketmq.tools.monitor.MonitorConfig;
import org.apache.rocketmq.tools.monitor.MonitorService;

/**
 * One round of what the official {@code startMonitoring} does every minute for ever. It writes to a log; here that
 * goes to standard output, a line per entry.
 */
final class Monitor {
    private Monitor() {
    }

    static void round(String namesrv) throws Exception {
        MonitorConfig config = new MonitorConfig();
        config.setNamesrvAddr(namesrv);
        Logger logger = (Logger) LoggerFactory.getLogger(DefaultMonitorListener.class);
        ListAppender<ILoggingEvent> entries = new ListAppender<>();
        entries.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(entries);
        MonitorService service = new MonitorService(config, new DefaultMonitorListener(), null);
        // Not service.start(): its timer could not be stopped.
        DefaultMQAdminExt admin = (DefaultMQAdminExt) field(service, "defaultMQAdminExt");
        DefaultMQPullConsumer puller = (DefaultMQPullConsumer) field(service, "defaultMQPullConsumer");
        try {
            admin.start();
            puller.start();
            service.doMonitorWork();
        } finally {
            puller.shutdown();
            admin.shutdown();
            logger.detachAppender(entries);
        }
        for (ILoggingEvent entry : entries.list) {
            System.out.println(entry.getFormattedMessage());
        }
    }

    private static Object field(MonitorService service, String name) throws Exception {
        Field field = MonitorService.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(service);
    }
}
