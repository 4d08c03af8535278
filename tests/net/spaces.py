"""Hosts in network namespaces on one switch, whose cables can be cut, cut one way, throttled and made late.

Everything lies in namespaces that this process makes and removes: each host has one with `eth0`, the switch another
one with a bridge, a port for each host, and the faults. Namespaces are called after the process; those of processes
that are gone are removed when a network is made. Linux, as root, with iproute2 and nftables.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.net.late import Late

_SPACES: Final = Path("/run/netns")
_NAMED: Final = re.compile(r"trimq-(\d+)-\w+")
_NEW_NET: Final = 0x40000000
_SWITCH: Final = "switch"
_TOOLS: Final = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables"}
_MEGABIT: Final = 125_000
_FAULTS: Final = """
add table bridge faults
add chain bridge faults passing { type filter hook forward priority 0; }
"""


class Net:
    """Hosts by their names, 10.77.0.1 and so on, in the order in which they are named."""

    def __init__(self, hosts: Sequence[str], late: Sequence[str] = ()) -> None:
        """`late`: hosts whose cable can be; every packet of theirs costs this process some work."""
        remove_leftovers()
        self._hosts = [_SWITCH, *hosts]
        self._late: dict[str, Late] = {}
        try:
            for host in self._hosts:
                _run("ip", "netns", "add", self.space(host))
                _run("ip", "-n", self.space(host), "link", "set", "lo", "up")
            self._ip(_SWITCH, "link add name bridge type bridge")
            self._ip(_SWITCH, "link set bridge up")
            for number, host in enumerate(hosts, 1):
                self._plug(host, host in late)
                self._ip(host, f"addr add 10.77.0.{number}/24 dev eth0")
                self._ip(host, "link set eth0 up")
                self._ip(_SWITCH, f"link set dev {host} master bridge up")
            self._nft(_FAULTS)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def space(host: str) -> str:
        return f"trimq-{os.getpid()}-{host}"

    def address(self, host: str) -> str:
        return f"10.77.0.{self._hosts.index(host)}"

    @contextlib.contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """This thread, and the threads and processes that it starts meanwhile, are on that host."""
        with Path("/proc/thread-self/ns/net").open("rb") as home:
            with (_SPACES / self.space(host)).open("rb") as space:
                _enter(space.fileno())
            try:
                yield
            finally:
                _enter(home.fileno())

    def close(self) -> None:
        """Whatever its state; processes that are still there are killed."""
        for late in self._late.values():
            late.close()
        for host in self._hosts:
            _remove(self.space(host))

    # --- faults: they add up until `heal`

    def drop(self, source: str, sink: str) -> None:
        """Nothing comes from one to the other any more; nobody is told."""
        self._nft(f'add rule bridge faults passing iifname "{source}" oifname "{sink}" drop')

    def cut(self, one: str, other: str) -> None:
        self.drop(one, other)
        self.drop(other, one)

    def isolate(self, host: str) -> None:
        for rule in (f'iifname "{host}"', f'oifname "{host}"'):
            self._nft(f"add rule bridge faults passing {rule} drop")

    def throttle(self, host: str, rate: int) -> None:
        """`rate`: bytes a second that come to it, with a queue of half a second."""
        kind = f"tbf rate {rate * 8}bit burst {_MEGABIT // 4} latency 500ms"
        self._tc(f"qdisc replace dev {host} root {kind}")

    def delay(self, host: str, seconds: float) -> None:
        """Each packet from and to it comes so much later."""
        self._late[host].delay = seconds

    def heal(self) -> None:
        self._nft("flush chain bridge faults passing")
        for host in self._hosts[1:]:
            if "tbf" in self._tc(f"qdisc show dev {host}"):
                self._tc(f"qdisc del dev {host} root")
        for late in self._late.values():
            late.delay = 0.0

    def _plug(self, host: str, is_late: bool) -> None:
        if not is_late:
            peer = f"peer name eth0 netns {self.space(host)}"
            self._ip(_SWITCH, f"link add name {host} type veth {peer}")
            return
        late = self._late[host] = Late()
        with self.inside(host):
            late.open("eth0")
        with self.inside(_SWITCH):
            late.open(host)
        late.start()

    def _ip(self, host: str, words: str) -> None:
        _run("ip", "-n", self.space(host), *words.split())

    def _tc(self, words: str) -> str:
        return _run("tc", "-n", self.space(_SWITCH), *words.split())

    def _nft(self, text: str) -> None:
        _run("ip", "netns", "exec", self.space(_SWITCH), "nft", "-f", "-", text=text)


@cache
def why_not() -> str:
    """Why networks cannot be made here; "" if they can."""
    if sys.platform != "linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if missing := sorted({package for tool, package in _TOOLS.items() if not shutil.which(tool)}):
        return f"needs {' and '.join(missing)} (apt-get install {' '.join(missing)})"
    try:
        net = Net(["a", "b"], late=["b"])
    except (OSError, subprocess.CalledProcessError) as error:
        return f"this system makes no such network: {_said(error)}"
    try:
        net.cut("a", "b")
        net.throttle("a", _MEGABIT)
        net.heal()
    except subprocess.CalledProcessError as error:
        return f"this system makes no such faults: {_said(error)}"
    finally:
        net.close()
    return ""


def remove_leftovers() -> None:
    """Of processes that were killed."""
    if not _SPACES.is_dir():
        return
    for path in _SPACES.iterdir():
        named = _NAMED.fullmatch(path.name)
        if named is not None and not Path(f"/proc/{named[1]}").exists():
            # Tests that run beside these may be removing the same.
            with contextlib.suppress(subprocess.CalledProcessError):
                _remove(path.name)


def _remove(space: str) -> None:
    if not (_SPACES / space).exists():
        return
    for pid in _run("ip", "netns", "pids", space).split():
        if int(pid) != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    _run("ip", "netns", "del", space)


def _enter(space: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(space, _NEW_NET):
        raise OSError(ctypes.get_errno(), "setns")


def _run(*words: str, text: str = "") -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, input=text).stdout


def _said(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, OSError):
        return str(error)
    return f"{' '.join(error.cmd)}: {error.stderr.strip()}"
