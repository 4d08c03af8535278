import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.rocketmq.auth.config.AuthConfig;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.ControllerConfig;
import org.apache.rocketmq.common.JraftConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.remoting.netty.TlsSystemConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/** Every key that a config file of 5.5.0 can set: what MixAll.properties2Object looks for, with its type and default. */
public class Settings {
    static final Set<String> TYPES = Set.of("int", "Integer", "long", "double", "boolean", "float", "String");

    public static void main(String[] args) throws Exception {
        System.out.println(String.join("\t", "class", "key", "type", "default"));
        if (args.length > 0) {
            // Of jars that not every caller has.
            settable(Class.forName(args[0]).getDeclaredConstructor().newInstance());
            return;
        }
        for (Object config : new Object[] {
            new BrokerConfig(), new MessageStoreConfig(), new NettyServerConfig(), new NettyClientConfig(),
            new NamesrvConfig(), new AuthConfig(), new ControllerConfig(), new JraftConfig()}) {
            settable(config);
        }
        tls();
    }

    static void settable(Object config) {
        Properties defaults = MixAll.object2Properties(config);
        Map<String, String> types = new TreeMap<>();
        for (Method method : config.getClass().getMethods()) {
            String name = method.getName();
            if (!name.startsWith("set") || name.length() < 4 || method.getParameterCount() != 1) {
                continue;
            }
            String type = method.getParameterTypes()[0].getSimpleName();
            if (TYPES.contains(type)) {
                // An enum's key takes its name as well as its number.
                types.merge(name.substring(3, 4).toLowerCase() + name.substring(4), type.replace("Integer", "int"),
                    (one, other) -> one.equals("String") ? one : other);
            }
        }
        types.forEach((key, type) -> row(config.getClass().getSimpleName(), key, type, defaults.getProperty(key)));
    }

    static void tls() throws Exception {
        for (Field field : TlsSystemConfig.class.getFields()) {
            if (Modifier.isFinal(field.getModifiers()) && field.getType() == String.class) {
                row("TlsSystemConfig", (String) field.get(null), "String", null);
            }
        }
    }

    static void row(String owner, String key, String type, String value) {
        System.out.println(String.join("\t", owner, key, type, value == null ? "\\N" : value));
    }
}
