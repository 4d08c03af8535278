"""Before a broker's pod stops: if it will not come back, its messages are read first (mqadmin drainBroker). If it
will, others take what is sent before it goes (mqadmin wipeWritePerm).

A restart, a rolling update and the eviction from a node look the same to a pod as a scale-down. What tells them apart
is its StatefulSet: after a scale-down that asks for fewer pods than this one's number. So the pod reads it, with the
service account's token, which may read this one object and nothing else.

It stops without waiting when it cannot ask, when the StatefulSet is deleted, and when there is no other broker: then
nobody else would take what is sent, and the claims keep what is stored. Whatever happens here, Kubernetes stops the
container afterwards.
"""

import argparse
import enum
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS: Final = 5.0
"""How long the answer of the API server is awaited."""
WIPE_SECONDS: Final = 10.0
"""A broker that changes one of its topics tells NameServers of all of them, with their own permissions."""


class Step(enum.Enum):
    """What is done before the stop, in the words of the log."""

    NOTHING = "not drained"
    DRAIN = "it is drained"
    END_WRITES = "others take what is sent"


def verdict(statefulset: Mapping[str, Any] | None, pod: str) -> tuple[Step, str]:
    """What to do, and why. None: there is no such StatefulSet any more."""
    if statefulset is None or statefulset["metadata"].get("deletionTimestamp"):
        return Step.NOTHING, "all are removed, the claims stay"
    spec = statefulset["spec"]
    wanted = spec.get("replicas", 1)
    if wanted == 0:
        return Step.NOTHING, "no broker shall be left, the claims stay"
    end = spec.get("ordinals", {}).get("start", 0) + wanted
    number = int(pod.rpartition("-")[2])
    if number < end:
        step = Step.END_WRITES if wanted > 1 else Step.NOTHING
        return step, f"{pod} comes back: {wanted} brokers are wanted"
    return Step.DRAIN, f"{pod} does not come back: {wanted} brokers are wanted"


def asked(account: Path, name: str) -> Mapping[str, Any] | None:
    """The StatefulSet as the API server has it. OSError or ValueError when it cannot be asked."""
    namespace = (account / "namespace").read_text().strip()
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    request = urllib.request.Request(
        f"https://{host}:{port}/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}",
        headers={
            "Authorization": f"Bearer {(account / 'token').read_text().strip()}",
            "Accept": "application/json",
        },
    )
    context = ssl.create_default_context(cafile=str(account / "ca.crt"))
    # Nothing of an environment's proxy: the API server is in the cluster.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            found: Mapping[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Before the broker of a pod stops: drains it, or ends writes for a restart."
    )
    parser.add_argument("--statefulset", required=True)
    parser.add_argument("--account", type=Path, default=ACCOUNT, help="folder of the token")
    parser.add_argument("--log", help="where to say what is done, instead of standard error")
    parser.add_argument("--drain-timeout", required=True)
    parser.add_argument("--restart-wait", type=float, required=True)
    parser.add_argument("--ignore-group", action="append", default=[])
    chosen = parser.parse_args()
    with _opened(chosen.log) as log:
        pod = os.environ["POD_NAME"]
        try:
            step, why = verdict(asked(chosen.account, chosen.statefulset), pod)
        except (OSError, KeyError, ValueError) as error:
            step, why = Step.NOTHING, f"it is not known whether {pod} comes back: {error!r}"
        if step is Step.END_WRITES and not chosen.restart_wait:
            step = Step.NOTHING
        print(f"before the stop: {why}; {step.value}", file=log)
        log.flush()
        if step is Step.NOTHING:
            return 0
        if step is Step.END_WRITES:
            return _end_writes(pod, chosen.restart_wait, log)
        words = ["drainBroker", "-b", pod, "--drain-timeout", chosen.drain_timeout]
        for group in chosen.ignore_group:
            words += ["--ignore-group", group]
        return _mqadmin(words, log)


def _end_writes(pod: str, seconds: float, log: TextIO) -> int:
    """Return after so many seconds, in which producers ask for new routes; earlier if NameServers refuse."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if code := _mqadmin(["wipeWritePerm", "-b", pod], log):
            return code
        time.sleep(min(left, WIPE_SECONDS))
    return 0


def _mqadmin(words: list[str], log: TextIO) -> int:
    """Its exit code."""
    command = [sys.executable, "-P", "-m", "trimq.mqadmin", *words]
    return subprocess.run(command, stdout=log, stderr=log, check=False).returncode


def _opened(path: str | None) -> TextIO:
    """The log of the container's own process, if that may be written."""
    if path:
        with suppress(OSError):
            return open(path, "a")
    return os.fdopen(os.dup(2), "a")


if __name__ == "__main__":
    sys.exit(main())
