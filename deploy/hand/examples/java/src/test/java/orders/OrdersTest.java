package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import orders.Orders.State;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import trimq.TriMQExtension;

/** The service as it is in production, with its own clients of RocketMQ. Each test has orders of its own. */
class OrdersTest {
    @RegisterExtension static final TriMQExtension rocketmq = new TriMQExtension();

    private static final List<String> asked = new CopyOnWriteArrayList<>();
    /** How often the bank is away when it is asked to charge an order. */
    private static final Map<String, Integer> away = new ConcurrentHashMap<>();
    private static Orders orders;

    @BeforeAll static void start() throws Exception {
        // As in production, topics are made before the service starts. Otherwise it learns of them after 30 s.
        DefaultMQProducer setup = new DefaultMQProducer("setup");
        setup.setNamesrvAddr(rocketmq.namesrvAddr());
        setup.start();
        for (String topic : List.of(Orders.TOPIC, "%RETRY%" + Orders.GROUP, "%DLQ%" + Orders.GROUP))
            setup.createTopic("TBW102", topic, 1, Map.of());
        setup.shutdown();
        orders = new Orders(rocketmq.namesrvAddr(), OrdersTest::charge);
    }

    @AfterAll static void stop() { orders.close(); }

    private static void charge(String order) throws Exception {
        asked.add(order);
        if (timesAsked(order) <= away.getOrDefault(order, 0)) throw new Exception("the bank is away");
    }

    private static int timesAsked(String order) { return Collections.frequency(asked, order); }

    @Test void anOrderIsChargedAfterTwoHours() throws Exception {
        orders.place("in time");
        rocketmq.advance("1h59m");
        // The service cannot have seen it: it is not in the topic yet.
        assertTrue(!rocketmq.sent(Orders.TOPIC).contains("in time"));
        rocketmq.advance("1m1s");
        rocketmq.until(() -> orders.state("in time") == State.PAID);
    }

    @Test void aCancelledOrderIsNotCharged() throws Exception {
        orders.place("regretted");
        rocketmq.advance("1h59m");
        assertTrue(orders.cancel("regretted"));
        orders.place("kept");
        rocketmq.advance("2h1s");
        rocketmq.until(() -> orders.state("kept") == State.PAID);
        assertEquals(0, timesAsked("regretted"));
    }

    @Test void aBankThatIsAwayIsAskedAgain() throws Exception {
        away.put("patient", 3);
        long placed = rocketmq.millis();
        orders.place("patient");
        rocketmq.advanceUntil(() -> orders.state("patient") == State.PAID);
        assertEquals(4, timesAsked("patient"));
        // Two hours, and then 10 s, 30 s and a minute.
        assertTrue(rocketmq.millis() - placed >= (2 * 60 * 60 + 100) * 1000);
    }

    @Test void afterTheLastAttemptTheOrderHasFailed() throws Exception {
        away.put("hopeless", Integer.MAX_VALUE);
        orders.place("hopeless");
        rocketmq.advanceUntil(() -> orders.state("hopeless") == State.FAILED);
        assertEquals(6, timesAsked("hopeless"));
    }

    @Test void anOrderThatWasSentTwiceIsChargedOnce() throws Exception {
        rocketmq.loseAnswer();
        orders.place("twice");
        List<String> stored = TriMQExtension.values(rocketmq.call("looks/pending_timers"), "keys");
        assertTrue(Collections.frequency(stored, "twice") > 1);
        orders.place("last");
        rocketmq.advance("2h1s");
        rocketmq.until(() -> orders.state("last") == State.PAID);
        assertEquals(1, timesAsked("twice"));
    }
}
