package orders;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;

/** PUT /7 places order 7, DELETE /7 cancels it, GET /7 says its state. NAMESRV_ADDR is RocketMQ's NameServer. */
public final class Main {
    private final Orders orders;

    private Main(Orders orders) { this.orders = orders; }

    public static void main(String[] arguments) throws Exception {
        Main main = new Main(new Orders(System.getenv("NAMESRV_ADDR"), order -> System.out.println("charged " + order)));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 8000), 0);
        server.createContext("/", main::answer);
        server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
        String order = exchange.getRequestURI().getPath().substring(1);
        int status = 200;
        try {
            if (exchange.getRequestMethod().equals("PUT")) orders.place(order);
            if (exchange.getRequestMethod().equals("DELETE") && !orders.cancel(order)) status = 409;
        } catch (Exception notStored) {
            status = 503;
        }
        byte[] said = (orders.state(order) + "\n").getBytes();
        exchange.sendResponseHeaders(status, said.length);
        exchange.getResponseBody().write(said);
        exchange.close();
    }
}
