"""Runs parts of `make test` side by side, and tells what each of them cost.

``python -m tests.run.parts GROUP...`` runs groups of `GROUPS` one after the other, and the parts of a group side by
side, as many at a time as the group says; the name of a part stands for a group of it alone. What a part prints
is shown in one piece when it has ended; until then a line a minute says what is running, because some observers take
silence for a hang. At the end come a table, the slowest tests, and what was skipped and why. Behind a group with a
part that failed no other one begins. The exit code is that of the first part that failed; Ctrl-C ends everything
that was started.

What failed in a comparison with real servers and clients is played again, alone, when its group has ended: on two
cores, three other such parts can starve it beyond any patience. What passes then counts as passed, and stands
in the output with its first failure and a count (tests/run/again.py). Unit tests, and more than a few,
are not played again.

Each run keeps what its parts have printed and reported in a folder of its own, `build/parts/TIME-PROCESS`: another
run in the same clone touches nothing there. `build/parts/latest` leads to the newest. What it may not do is build: two
runs that make `build/compiled` would take it away from each other, so the second of those does not begin.
"""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from tests.run import again, memory, report

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "build" / "parts"
COMPILED: Final = ROOT / "build" / "compiled"
BYTE_CODE: Final = ROOT / "build" / "byte-code"
# How many runs can be looked at later.
KEPT: Final = 10
# How long a part may take to end what it started.
GRACE: Final = 60.0
SILENCE: Final = 60.0
# Where most parts wait.
LANES: Final = 4


@dataclass(frozen=True)
class Part:
    """A session of pytest with `words`, in `folder`; or a target of make, if they begin with that."""

    name: str
    words: Sequence[str]
    folder: Path = ROOT
    # Whether it computes more than it waits.
    busy: bool = False
    # Whether what fails in it is played again, alone.
    again: bool = False
    # Whether its processes share their byte code; not where they see to it themselves.
    compiles_once: bool = True

    @property
    def files(self) -> list[str]:
        """What it tests: folders and files, as they are named."""
        return [word for word in self.words if not word.startswith("-") and "/" in word]

    def command(self, xml: Path) -> list[str]:
        option = f"--junitxml={xml}"
        if self.words[0] == "make":
            return [*self.words, f"PYTEST_REPORT={option}"]
        place = memory.folder(self.name) if self.again else None
        options = [option] if place is None else [option, f"--basetemp={place}"]
        return [sys.executable, "-m", "pytest", *options, *self.words]


@dataclass(frozen=True)
class Group:
    """Parts, and how many of them run at a time: of the busy ones `busy`, but more of them when nothing else is left.

    A busy part keeps one core of two, and parts that mostly wait share the other one. The long ones come first.
    """

    parts: Sequence[Part]
    beside: int = 2
    busy: int = 2

    def next(self, waiting: Sequence[Part], running: Iterable[Part]) -> Part | None:
        """Which one of those that wait begins now beside those that run; None: none yet."""
        now = list(running)
        if len(now) >= self.beside:
            return None
        full = sum(part.busy for part in now) >= self.busy
        fitting = [part for part in waiting if not (full and part.busy)]
        if not fitting and len(now) < self.beside // 2:
            fitting = list(waiting)
        return next(iter(fitting), None)


def _compat(name: str, *where: str, but: Iterable[Part] = (), busy: bool = False) -> Part:
    """Files and folders of compat_tests, without what is in other parts."""
    left_out = [f"--ignore={file}" for part in but for file in part.files]
    words = ("-p", "no:randomly", *(f"compat_tests/{w}" for w in where), *left_out)
    return Part(name, words, busy=busy, again=True)


def _files(folder: str, *names: str) -> list[str]:
    return [f"{folder}/test_{name}.py" for name in names]


def _unit(name: str, folder: Path) -> list[Part]:
    """All unit tests, the part that mostly waits first."""
    store = ("tests/store", "tests/spark", "tests/codec")
    broker = ("tests/broker", "tests/processors", "tests/popping", "tests/hostile", "tests/field")
    rest = ("tests/", *(f"--ignore={word}" for word in (*store, *broker)))
    return [
        Part(name, rest, folder),
        Part(f"{name}-broker", broker, folder, busy=True),
        Part(f"{name}-store", store, folder, busy=True),
    ]


def _compat_parts() -> list[Part]:
    """The long ones first, and none so long that the others wait for it in the end."""
    java = _compat("java", "scenarios/test_java.py", busy=True)
    order = _compat("order", "scenarios/test_order.py")
    proxy = _compat("proxy", *_files("scenarios", "grpc", "grpc_go", "proxy_page"))
    delayed = _compat("clients-delayed", *_files("scenarios", "timers", "transactions", "restart"))
    asking = _compat("clients-asking", *_files("scenarios", "filters", "reply", "trace"))
    opened = _compat("store-opened", *_files("store", "interop", "index"))
    aging = _compat("store-aging", *_files("store", "retention", "compaction", "timers"))
    turns = _compat("store-turns", *_files("store", "pops", "pop_kills", "transactions", "blocks"))
    away = _compat("spark-away", *_files("spark", "streams", "outages", "losses", "kills"))
    copies = _compat("replication-copies", *_files("replication", "copies", "sync_master"))
    return [
        turns,
        aging,
        _compat("spark", "spark/", but=[away]),
        _compat("clients", "scenarios/", but=[java, order, proxy, delayed, asking]),
        _compat("mqadmin", "mqadmin/"),
        away,
        delayed,
        asking,
        _compat("wire", "wire/", busy=True),
        java,
        opened,
        proxy,
        _compat("replication", "replication/", but=[copies]),
        copies,
        _compat("store", "store/", but=[opened, aging, turns]),
        _compat("cluster", "cluster/", "old/"),
        _compat("elastic", "elastic/"),
        order,
        _compat("installs", "installs/", busy=True),
        _compat("reports", "reports/"),
        _compat("filters", "filters/"),
    ]


_MAKE: Final = ("make", "--no-print-directory", "BUILT=yes")


def _is_compiled() -> bool:
    return any(COMPILED.glob("codec/**/*.so"))


def _compiled_parts() -> list[Part]:
    """None where nothing could be compiled."""
    return _unit("compiled", COMPILED) if _is_compiled() else []


def _compiled_briefly() -> list[Part]:
    """The tests of the packages with compiled modules; the others see nothing new there, and take most of the time."""
    packages = (
        "broker",
        "codec",
        "native",
        "popping",
        "processors",
        "remoting",
        "replication",
        "store",
    )
    words = [f"tests/{package}" for package in packages]
    return [Part("compiled", words, COMPILED, busy=True)] if _is_compiled() else []


def _first() -> Group:
    build = Part("build", ("make", "--no-print-directory", "build/compiled/.built"))
    bare = Part("unit-bare", (*_MAKE, "unit-bare"))
    lint = Part("lint", (*_MAKE, "lint"))
    return Group([lint, *_unit("unit", ROOT), build, bare], beside=LANES, busy=LANES)


def _second() -> Group:
    smoke = Part("bench-smoke", (*_MAKE, "bench-smoke"), busy=True)
    compat = _compat_parts()
    # In the middle: at the end they would have the machine to themselves, and they wait half of their time.
    middle = next(at for at, part in enumerate(compat) if part.name == "java") + 1
    parts = [*compat[:middle], *_compiled_briefly(), *compat[middle:], smoke]
    return Group(parts, beside=LANES, busy=1)


# By the names that the Makefile uses: what a group is may depend on what the one before it has made.
GROUPS: Final[Mapping[str, Callable[[], Group]]] = {
    "unit": lambda: Group(_unit("unit", ROOT)),
    "compiled": lambda: Group(_compiled_parts()),
    "compat": lambda: Group(_compat_parts(), beside=LANES, busy=1),
    "first": _first,
    "second": _second,
}


def group(name: str) -> Group:
    """The group of this name, or the part of this name by itself."""
    if name in GROUPS:
        return GROUPS[name]()
    parts = {part.name: part for made in GROUPS.values() for part in made().parts}
    if name not in parts:
        raise SystemExit(
            f"{name} is no group ({', '.join(GROUPS)}) and no part ({', '.join(parts)})"
        )
    return Group([parts[name]])


class Running:
    """A part that was started, in a process group of its own."""

    def __init__(self, part: Part, results: Path) -> None:
        self.part = part
        self.began = time.monotonic()
        self.log = results / f"{part.name}.txt"
        self._xml = results / f"{part.name}.xml"
        with self.log.open("wb") as sink:
            self._process = subprocess.Popen(
                part.command(self._xml),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=part.folder,
                env=self._environment(part),
                start_new_session=True,
            )

    @staticmethod
    def _environment(part: Part) -> dict[str, str]:
        """Its processes keep their byte code, whatever is exported: without it each server compiles 400 files first."""
        environment = dict(os.environ)
        if part.compiles_once:
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            environment["PYTHONPYCACHEPREFIX"] = str(BYTE_CODE)
        return environment

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self, status: int, usage: resource.struct_rusage) -> report.Outcome:
        """Its outcome; whatever it left behind ends here."""
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.signal(signal.SIGKILL)
        if not self._process.returncode:
            memory.clear(self.part.name)
        cpu = usage.ru_utime + usage.ru_stime
        seconds = time.monotonic() - self.began
        return report.Outcome(self.part.name, self._process.returncode, seconds, cpu, self._xml)

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def end(self) -> None:
        """Wait until it has heeded the SIGINT; by force when that takes too long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self.signal(signal.SIGKILL)
        self._process.wait()


def run(group: Group, results: Path, outcomes: list[report.Outcome]) -> None:
    """Adds what became of each part; whatever happens, nothing of them is left."""
    waiting, running = list(group.parts), dict[int, Running]()
    try:
        with _telling(running):
            _run(group, waiting, running, results, outcomes)
    finally:
        # As Ctrl-C does, so that tests stop their servers.
        for left in running.values():
            left.signal(signal.SIGINT)
        for left in running.values():
            left.end()


@contextmanager
def _telling(running: Mapping[int, Running]) -> Iterator[None]:
    """Says now and then what is running."""
    done = threading.Event()

    def tell() -> None:
        while not done.wait(SILENCE):
            now = time.monotonic()
            parts = [f"{one.part.name} ({now - one.began:.0f} s)" for one in list(running.values())]
            print(f"running: {', '.join(parts)}", flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _run(
    group: Group,
    waiting: list[Part],
    running: dict[int, Running],
    results: Path,
    outcomes: list[report.Outcome],
) -> None:
    while waiting or running:
        while part := group.next(waiting, [one.part for one in running.values()]):
            waiting.remove(part)
            started = Running(part, results)
            running[started.pid] = started
            print(f"begins: {started.part.name}", flush=True)
        pid, status, usage = os.wait4(-1, 0)
        if pid not in running:
            continue
        done = running.pop(pid)
        outcomes.append(done.ended(status, usage))
        _show(done.log, outcomes[-1])


def _show(log: Path, outcome: report.Outcome) -> None:
    print(f"\n===== {outcome.name}: {outcome.seconds:.0f} s, exit code {outcome.code} =====")
    sys.stdout.flush()
    with log.open("rb") as text:
        os.set_blocking(sys.stdout.fileno(), True)
        sys.stdout.buffer.write(text.read())
    sys.stdout.flush()


def own_folder() -> Path:
    """For what this run prints and reports; `latest` leads there. Only the newest of those that have ended stay."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    ended = [old for old in sorted(RESULTS.glob("*-*-*")) if not memory.is_running(old)]
    for old in ended[: -(KEPT - 1)]:
        shutil.rmtree(old, ignore_errors=True)
    folder = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    folder.mkdir()
    latest = RESULTS / f"latest.{os.getpid()}"
    latest.symlink_to(folder.name)
    latest.replace(RESULTS / "latest")
    return folder


@contextmanager
def _building(names: Sequence[str]) -> Iterator[None]:
    """`build/compiled` belongs to one run at a time of those that make it."""
    if not any(part.name == "build" for name in names for part in group(name).parts):
        yield
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "building").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(
                f"another run in {ROOT} has made build/compiled and tests it: wait for its end, or use another clone"
            ) from None
        yield


def main(names: Sequence[str]) -> int:
    with _building(names):
        return _main(names)


def _main(names: Sequence[str]) -> int:
    results = own_folder()
    memory.clear_after_others()
    outcomes: list[report.Outcome] = []
    mended: list[again.Second] = []
    code = 0
    try:
        for name in names:
            code = _ended(group(name), results, outcomes, mended)
            if code:
                break
    finally:
        print(report.text(outcomes))
        print(again.text(mended))
        print(f"\nall of it is in {results}", flush=True)
    return code


def _ended(
    made: Group, results: Path, outcomes: list[report.Outcome], seconds: list[again.Second]
) -> int:
    """Run it, and what failed in it again; the exit code of the first part that failed and did not pass alone."""
    own: list[report.Outcome] = []
    try:
        run(made, results, own)
    finally:
        outcomes += own
    parts = {part.name: part for part in made.parts if part.again}
    chosen = again.chosen(own, parts)
    for first, names in chosen.items():
        # One after the other: nothing runs beside it.
        words = ("-p", "no:randomly", *names)
        run(Group([Part(f"{first}-again", words, parts[first].folder)]), results, outcomes)
        seconds += again.seconds(next(one for one in own if one.name == first), outcomes[-1], names)
    passed = again.passed(chosen, seconds)
    return next((one.code for one in own if one.code and one.name not in passed), 0)


def interrupted(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # A shell lets its jobs in the background ignore the first of them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
