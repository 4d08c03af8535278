import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.expression.BooleanExpression;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.MQFilterException;
import org.apache.rocketmq.filter.parser.SelectorParser;

/**
 * What RocketMQ makes of expressions. Each line of input is base64 texts: an expression, then names and values of
 * properties in turn. Each line of output is one of refused, true, false, unknown, exception.
 */
public final class Oracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] texts = line.split(" ", -1);
            Map<String, String> properties = new HashMap<>();
            for (int at = 1; at + 1 < texts.length; at += 2) {
                properties.put(decoded(texts[at]), decoded(texts[at + 1]));
            }
            out.println(outcome(decoded(texts[0]), properties));
            out.flush();
        }
    }

    private static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }

    private static String outcome(String text, Map<String, String> properties) {
        BooleanExpression expression;
        try {
            expression = SelectorParser.parse(text);
        } catch (MQFilterException refused) {
            return "refused";
        }
        try {
            Object value = expression.evaluate(new Message(properties));
            return value == null ? "unknown" : value.toString();
        } catch (Throwable thrown) {
            return "exception";
        }
    }

    /** The broker's MessageEvaluationContext, without the broker. */
    private static final class Message implements EvaluationContext {
        private final Map<String, String> properties;

        Message(Map<String, String> properties) {
            this.properties = properties;
        }

        @Override
        public Object get(String name) {
            return properties.get(name);
        }

        @Override
        public Map<String, Object> keyValues() {
            return new HashMap<>(properties);
        }
    }
}
