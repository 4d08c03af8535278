package driver;

import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Keeps a client's heartbeats back while it is closed: the scenario says when the broker hears it.
 *
 * <p>A client sends some by itself, whenever it starts, its queues change, or a second has passed since its start.
 */
final class Gate implements RPCHook {
    private static final int HEART_BEAT = 34;
    private boolean open = true;
    private int answered;

    @Override
    public synchronized void doBeforeRequest(String remoteAddr, RemotingCommand request) {
        if (request.getCode() == HEART_BEAT && !open) {
            throw new IllegalStateException("the scenario keeps this heartbeat back");
        }
    }

    @Override
    public synchronized void doAfterResponse(String addr, RemotingCommand request, RemotingCommand response) {
        if (request.getCode() == HEART_BEAT && response != null) {
            answered++;
        }
    }

    synchronized void setOpen(boolean open) {
        this.open = open;
    }

    synchronized int answered() {
        return answered;
    }
}
