"""A probe of a container, done as the kubelet does it."""

from __future__ import annotations

import http.client
import socket

from compat_tests.releases.charts import Pod


def passes(pod: Pod, address: str, probe: str) -> bool:
    """Whether it succeeds once. `probe` is its key in the container: livenessProbe, ..."""
    given = pod.container[probe]
    ports = dict(pod.ports())
    seconds = given["timeoutSeconds"]
    try:
        if "tcpSocket" in given:
            port = ports[given["tcpSocket"]["port"]]
            socket.create_connection((address, port), timeout=seconds).close()
            return True
        port = ports[given["httpGet"]["port"]]
        connection = http.client.HTTPConnection(address, port, timeout=seconds)
        connection.request("GET", given["httpGet"]["path"])
        return 200 <= connection.getresponse().status < 400
    except OSError:
        return False
