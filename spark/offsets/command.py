"""The command `trimq offsets report`, which `spark-submit spark/offset_report.py` is, too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from trimq.admin.connecting.tls import FLAGS, client_tls
from trimq.remoting.tls.contexts import ClientTls, TlsFilesError
from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.offsets.failures import Failed, failures
from trimq.spark.offsets.snapshot.filters import Filters
from trimq.spark.offsets.starting import LEVELS, SUBMITTED, running

if TYPE_CHECKING:
    from trimq.spark.offsets.snapshot.cluster import ClusterSource, Snapshot
    from trimq.spark.offsets.snapshot.store_folder import FolderSource

F = TypeVar("F", bound=Callable[..., Any])

EXAMPLES: Final = """
\b
Examples:
  trimq offsets report --namesrv 127.0.0.1:9876
      how things stand, as tables
  trimq offsets report --namesrv 127.0.0.1:9876 --history offsets --html offsets.html
      add a snapshot to the history; rates, stuck queues and curves come from it
  trimq offsets report --history offsets --json -
      what the history says, without asking anybody
  trimq offsets report --store /home/rocketmq/store
      from a store directory, whether its broker runs or not
  trimq offsets report --namesrv 127.0.0.1:9876 --max-lag 10000 --max-delay 60 --quiet
      for cron: says on standard error which groups are too far behind

\b
Exit code: 0 when all is well, 1 when --max-lag or --max-delay was passed, 2 for wrong usage, when a
server cannot be asked, or when Spark fails. With --watch it is the last round's.
"""


def _tls_options(function: F) -> F:
    for flag in reversed(FLAGS):
        function = click.option(
            flag.name,
            envvar=flag.variable,
            is_flag=not flag.metavar,
            metavar=flag.metavar,
            help=flag.help,
        )(function)
    return function


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--namesrv", metavar="HOST:PORT;...", help="Take a snapshot of this cluster.")
@click.option("--store", type=click.Path(path_type=Path), help="Or of this store directory.")
@click.option(
    "--commitlog",
    metavar="DIR[,DIR...]",
    help="Where its commit log is, when not in STORE/commitlog; several as in storePathCommitLog.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder that keeps the snapshots of one cluster. Without it, nothing is kept.",
)
@click.option(
    "--keep",
    metavar="30d",
    help="Delete snapshots from the history that are older than this; also 12h, 2w.  "
    "[default: never]",
)
@click.option(
    "--group", "groups", multiple=True, help="Report on these groups only; * and ? are wildcards."
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    help="Report on these topics only, and on groups that read them.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    default=200,
    show_default=True,
    help="At most this many requests a second to one broker.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Brokers that are asked at once; one request at a time each.",
)
@click.option(
    "--exact-delays",
    "exact",
    type=click.IntRange(0),
    default=500,
    show_default=True,
    help="For how many groups' topics on each broker to ask for exact delays.",
)
@click.option("--clients/--no-clients", default=True, help="Ask consumers which queues they have.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=5, show_default=True)
@click.option("--access-key", envvar="MQADMIN_ACCESS_KEY")
@click.option("--secret-key", envvar="MQADMIN_SECRET_KEY")
@_tls_options
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="A page with plots.")
@click.option("--json", metavar="FILE", help="One object; - is standard output.")
@click.option("--prometheus", metavar="FILE", help="Prometheus's text format; - too.")
@click.option(
    "--listen", metavar="HOST:PORT", help="With --watch: serve the last round's metrics there."
)
@click.option(
    "--metrics-of-queues",
    "by_queue",
    is_flag=True,
    help="Also write metrics of each queue of a group.",
)
@click.option("--parquet", type=click.Path(path_type=Path), help="A folder of whole tables.")
@click.option("--csv", type=click.Path(path_type=Path), help="The same as CSV.")
@click.option("--quiet", is_flag=True, help="No tables on the terminal.")
@click.option(
    "--top", type=click.IntRange(1), default=20, show_default=True, help="Rows of tables."
)
@click.option("--max-lag", type=click.IntRange(0), help="Messages that a group may be behind.")
@click.option("--max-delay", type=click.FloatRange(0), help="Seconds that a group may be behind.")
@click.option("--watch", type=click.FloatRange(0, min_open=True), help="Again every N seconds.")
@click.option("--rounds", type=click.IntRange(1), help="End --watch after this many rounds.")
@click.option(
    "--master", help="Have executors of this Spark master ask the brokers.  [default: this process]"
)
@click.option(
    "--spark-log",
    type=click.Choice(LEVELS),
    help="Show Spark's own log on standard error, from this level on.",
)
def report(master: str | None, spark_log: str | None, **given: Any) -> None:
    """How far consumer groups are behind, since when, and how fast that changes."""
    given["filters"] = Filters(given["groups"], given["topics"])
    keep = _keep(given["keep"])
    source = _source(given)
    from trimq.spark.offsets.rounds import Reporter, Schedule, Wanted

    wanted = Wanted(**{name: given[name] for name in Wanted.__dataclass_fields__})
    schedule = Schedule(given["watch"], given["rounds"])
    try:
        with (
            _folder(given["history"]) as folder,
            failures(),
            _taking(source, master, spark_log) as take,
        ):
            code = Reporter(take, folder, wanted, schedule, keep).run()
    except KeyboardInterrupt:
        code = 0
    raise SystemExit(code)


def _source(given: dict[str, Any]) -> ClusterSource | FolderSource | None:
    """What to take snapshots of; None when the history alone is asked for."""
    namesrv, store = given["namesrv"], given["store"]
    if namesrv and store:
        raise Failed("give --namesrv or --store, not both")
    if not (namesrv or store or given["history"]):
        raise Failed("say what to report on: --namesrv HOST:PORT, --store DIR or --history DIR")
    if given["listen"] and given["watch"] is None:
        raise Failed("--listen serves what --watch finds out: give --watch SECONDS too")
    if given["rounds"] is not None and given["watch"] is None:
        raise Failed("--rounds ends --watch: give --watch SECONDS too")
    if given["keep"] is not None and not (given["history"] and (namesrv or store)):
        raise Failed(
            "--keep shortens --history when a snapshot is added: give that too, and --namesrv or --store"
        )
    if given["commitlog"] and not store:
        raise Failed("--commitlog says where the log of --store is: give --store too")
    if given["by_queue"] and not (given["listen"] or given["prometheus"]):
        raise Failed("--metrics-of-queues goes with --prometheus or --listen")
    _check_installed("pyarrow")
    if namesrv:
        from trimq.admin.connecting.signing import AccessKeys
        from trimq.spark.offsets.snapshot import cluster

        keys = (given["access_key"], given["secret_key"])
        return cluster.ClusterSource(
            name_servers=namesrv,
            details=given["filters"],
            concurrency=given["concurrency"],
            rate=given["rate"],
            timeout=given["timeout"],
            exact=given["exact"],
            ask_clients=given["clients"],
            keys=AccessKeys(*keys) if all(keys) else None,
            tls=_tls(given),
        )
    if store:
        from trimq.spark.offsets.snapshot import store_folder

        return store_folder.FolderSource(store, commit_logs=_folders(given["commitlog"]))
    return None


@contextmanager
def _taking(
    source: ClusterSource | FolderSource | None, master: str | None, log: str | None
) -> Iterator[Callable[[], Snapshot] | None]:
    """What takes a snapshot: of a cluster this process, or Spark's executors if a master is named."""
    from trimq.spark.offsets.snapshot import cluster, store_folder

    if source is None:
        yield None
    elif isinstance(source, store_folder.FolderSource):
        yield lambda: store_folder.snapshot(source)
    elif master is None and SUBMITTED not in os.environ:
        yield lambda: cluster.snapshot(source)
    else:
        _check_installed("pyspark")
        from trimq.spark.offsets.snapshot import spreading

        with sentences():
            # Unreachable servers are reported before Spark starts.
            cluster.addresses(source)
        with running(master, log) as spark:
            yield lambda: spreading.snapshot(source, spark)


def _keep(text: str | None) -> int | None:
    from trimq.spark.offsets.api import millis_of

    try:
        return None if text is None else millis_of(text)
    except SparkSourceError as error:
        raise Failed(f"--keep: {error}") from None


def _folders(text: str | None) -> tuple[Path, ...]:
    from trimq.store.log.paths import parse_paths

    try:
        return parse_paths(text or "")
    except ValueError as error:
        raise Failed(f"--commitlog {text!r}: {error}") from None


def _tls(given: dict[str, Any]) -> ClientTls | None:
    try:
        return client_tls(given)
    except TlsFilesError as error:
        raise Failed(str(error)) from None


def _check_installed(*names: str) -> None:
    from importlib.util import find_spec

    for name in names:
        if find_spec(name) is None:
            raise Failed(f"{name} is not installed: pip install '/path/to/trimq[spark]'")
    if "pyspark" not in names:
        return
    import pyspark

    from trimq.spark.versions import is_supported

    if not is_supported(pyspark.__version__):
        raise Failed(
            f"the report works with Spark 4; this is {pyspark.__version__}: pip install "
            "'/path/to/trimq[spark]'"
        )


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with TemporaryDirectory(prefix="trimq-offsets-") as folder:
        yield Path(folder)
