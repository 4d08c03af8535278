package driver;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** The few lines of JSON that an outcome needs, so that no client's own JSON library is involved. */
final class Json {
    private Json() {
    }

    /** A map literal in order: key, value, key, value. */
    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put((String) pairs[i], pairs[i + 1]);
        }
        return map;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    static String stack(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map) {
            writeMap((Map<?, ?>) value, out);
        } else if (value instanceof Collection) {
            writeList((Collection<?>) value, out);
        } else if (value instanceof Object[]) {
            writeList(Arrays.asList((Object[]) value), out);
        } else {
            writeText(value.toString(), out);
        }
    }

    private static void writeMap(Map<?, ?> map, StringBuilder out) {
        Map<String, Object> sorted = new TreeMap<>();
        map.forEach((key, value) -> sorted.put(String.valueOf(key), value));
        String separator = "{";
        for (Map.Entry<String, Object> entry : sorted.entrySet()) {
            out.append(separator);
            writeText(entry.getKey(), out);
            out.append(": ");
            write(entry.getValue(), out);
            separator = ", ";
        }
        out.append(sorted.isEmpty() ? "{}" : "}");
    }

    private static void writeList(Collection<?> list, StringBuilder out) {
        String separator = "[";
        for (Object item : list) {
            out.append(separator);
            write(item, out);
            separator = ", ";
        }
        out.append(list.isEmpty() ? "[]" : "]");
    }

    private static void writeText(String text, StringBuilder out) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || c > 0x7e) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
