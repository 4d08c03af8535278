package driver;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Map;

/**
 * Plays the scenarios of one subject: {@code driver.Subject CLASS} and what the driver takes.
 *
 * <p>A subject's sources lie beside the driver's and have records of their own. The driver's own sources stay as its
 * records know them, so the subject's scenarios come into its table from here.
 */
public final class Subject {
    private Subject() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        Field table = Driver.class.getDeclaredField("SCENARIOS");
        table.setAccessible(true);
        Map<String, Scenario> scenarios = (Map<String, Scenario>) table.get(null);
        Class.forName("driver." + args[0]).getDeclaredMethod("register", Map.class).invoke(null, scenarios);
        Driver.main(Arrays.copyOfRange(args, 1, args.length));
    }
}
