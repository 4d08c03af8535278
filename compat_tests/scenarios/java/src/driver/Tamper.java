package driver;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.remoting.CommandCustomHeader;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Changes header fields of outgoing requests, through the hook that every client offers.
 *
 * <p>So a broker's check is reached that the client's own check stands in front of.
 */
final class Tamper implements RPCHook {
    private final int code;
    private final Map<String, Object> fields;
    private final List<Object> answers = new ArrayList<>();

    Tamper(int code, Object... fields) {
        this.code = code;
        this.fields = Json.map(fields);
    }

    @Override
    public void doBeforeRequest(String remoteAddr, RemotingCommand request) {
        if (request.getCode() != code) {
            return;
        }
        CommandCustomHeader header = request.readCustomHeader();
        try {
            for (Map.Entry<String, Object> entry : fields.entrySet()) {
                Field field = header.getClass().getDeclaredField(entry.getKey());
                field.setAccessible(true);
                field.set(header, entry.getValue());
            }
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    @Override
    public void doAfterResponse(String remoteAddr, RemotingCommand request, RemotingCommand response) {
        if (request.getCode() == code && response != null) {
            synchronized (this) {
                answers.add(Json.map("code", response.getCode(), "remark", response.getRemark()));
            }
        }
    }

    synchronized boolean hasAnswer(int responseCode) {
        return answers.stream().anyMatch(answer -> ((Map<?, ?>) answer).get("code").equals(responseCode));
    }

    /** What the broker answered to the changed requests, before the client made anything of it. */
    synchronized List<Object> answers() {
        return new ArrayList<>(answers);
    }
}
