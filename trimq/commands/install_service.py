"""``trimq install-service``: this installation as a service of systemd."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trimq.commands.refusals import Misused, Refused
from trimq.commands.service_access import User, lies_in_a_home, lies_in_a_private_folder
from trimq.commands.service_units import (
    SERVICE,
    SOCKET,
    STATE,
    STORE,
    Service,
    is_made_by_systemd,
    service_unit,
    socket_unit,
)

if TYPE_CHECKING:
    from trimq.settings.endpoints import Endpoint
    from trimq.settings.options import ServerPlan

UNITS: Final = Path("/etc/systemd/system")
# It is there while systemd is this machine's first process (sd_booted(3)).
RUNNING: Final = Path("/run/systemd/system")
# Of `trimq server`, what this command has itself, or what a service is.
_OURS: Final = {"store": "--store", "config": "--conf"}
_PASSED_ON: Final = ("namesrv", "namesrv_listen", "listen", "advertise", "metrics")

EXAMPLES: Final = """
\b
Examples:
  sudo trimq install-service
      NameServer on 127.0.0.1:9876 and broker on 127.0.0.1:10911, data in /var/lib/trimq
  trimq install-service --dry-run
      shows the units; changes nothing, and needs neither root nor systemd
  sudo trimq install-service --conf /etc/trimq/broker.conf --user rocketmq --store /data/trimq
      settings of a RocketMQ broker, a user and a disk of your own
  sudo trimq install-service -- --listen 0.0.0.0:10911 --namesrv 'ns1:9876;ns2:9876'
      what follows -- are words for 'trimq server': here a broker of an existing cluster
  sudo trimq install-service -- --listen 0.0.0.0:10911 --namesrv-listen 0.0.0.0:9876 --metrics 9878
      reachable from other machines, with metrics and health pages

\b
Run it again after a change of --conf's addresses, of this installation's place, or of its words:
the units are written anew and the service is restarted.
Exit code: 0 when the service runs (or is shown), 1 when it does not, 2 for wrong usage.
"""


@click.command("install-service", epilog=EXAMPLES)
@click.option(
    "--user",
    metavar="NAME",
    help="Run as this user.  [default: one of its own, which systemd makes]",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"The store directory.  [default: storePathRootDir of the file, or {STORE}]",
)
@click.option(
    "--conf", type=click.Path(path_type=Path), metavar="FILE", help="A RocketMQ broker.conf."
)
@click.option(
    "--socket/--no-socket",
    "has_socket",
    default=True,
    help="Whether systemd keeps the ports open, so that a restart refuses nobody.  [default: it does]",
)
@click.option("--no-start", is_flag=True, help="Write and enable the units, and start nothing.")
@click.option("--dry-run", is_flag=True, help="Print the units and do nothing.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- SERVER OPTIONS...]")
def install_service(
    user: str | None,
    store: Path | None,
    conf: Path | None,
    has_socket: bool,
    no_start: bool,
    dry_run: bool,
    words: tuple[str, ...],
) -> None:
    """Run `trimq server` of this installation as a service of systemd: write its units, enable and start them."""
    if not dry_run:
        _check_machine()
    units, obstacles = _units(_Wish(user or "", store, conf, has_socket, words))
    if dry_run:
        for sentence in obstacles:
            click.echo(f"note: {sentence}", err=True)
        click.echo("\n".join(f"# {UNITS / name}\n{text}" for name, text in units.items()), nl=False)
        return
    if obstacles:
        raise Refused("; ".join(obstacles))
    _write(units)
    _enable(units, start=not no_start)


@dataclass(frozen=True, slots=True)
class _Wish:
    user: str
    store: Path | None
    conf: Path | None
    has_socket: bool
    words: Sequence[str]


def _check_machine() -> None:
    if not RUNNING.is_dir():
        raise Refused(
            "systemd does not run this machine (a container, perhaps): start 'trimq server' by what does; --dry-run"
            " shows the units for another one"
        )
    if os.geteuid() != 0:
        raise Refused(f"writing to {UNITS} needs root: sudo {_program()[0]} install-service ...")


def _units(wish: _Wish) -> tuple[dict[str, str], list[str]]:
    """The texts by their names, and what stands in the way of their service. Misused."""
    user = _user(wish.user)
    params, plan = _plan(wish)
    store = plan.store.root.absolute()
    conf = None if wish.conf is None else wish.conf.absolute()
    command = [*_program(), "server", "--store", str(store)]
    if conf is not None:
        command += ["--config", str(conf)]
    installed = [Path(sys.executable), Path(__file__)]
    beside = list(_folders_beside(store, plan))
    theirs = beside if is_made_by_systemd(store) else [store, *beside]
    if theirs and not user.name:
        raise Misused(
            f"{theirs[0]} is not below {STATE}: name the user to whom it belongs by --user, or leave out --store"
        )
    writable = [*beside, *_folder_of_settings(conf, user)]
    needed = [*installed, store, *writable, *([] if conf is None else [conf])]
    service = Service(
        command=[*command, *wish.words],
        user=wish.user,
        store=store,
        writable=writable,
        sees_homes=any(map(lies_in_a_home, needed)),
    )
    units = {SERVICE: service_unit(service)}
    if wish.has_socket:
        endpoints = _endpoints(plan, several=params["brokers"] is not None)
        if endpoints:
            units[SOCKET] = socket_unit(endpoints)
    return units, list(_obstacles(user, installed, conf, theirs))


def _user(name: str) -> User:
    if not name:
        return User()
    try:
        return User.named(name)
    except KeyError:
        raise Misused(
            f"there is no user {name}: useradd --system --no-create-home --shell /usr/sbin/nologin {name} makes one"
        ) from None


def _plan(wish: _Wish) -> "tuple[dict[str, Any], ServerPlan]":
    """What `trimq server` would read from the same words, and what it would make of them."""
    from trimq.commands.cli import server
    from trimq.serving.failures import EXPLAINED
    from trimq.serving.server import planned
    from trimq.settings.options import ServerOptions
    from trimq.settings.parsing import parse_assignments
    from trimq.settings.sources import given

    with _without_name_servers():
        params = dict(server.make_context("trimq server", list(wish.words)).params)
        for name, ours in _OURS.items():
            if params[name] is not None:
                raise Misused(f"give {ours} before the --, so that the unit fits it")
        try:
            settings = parse_assignments(params["assignments"])
            names_a_store = "storePathRootDir" in given(wish.conf, settings).texts
            options = ServerOptions(
                config=wish.conf,
                store=wish.store or (None if names_a_store else STORE),
                settings=settings,
                **{name: params[name] for name in _PASSED_ON},
            )
            return params, planned(options)
        except EXPLAINED as error:
            raise Misused(str(error)) from None


@contextmanager
def _without_name_servers() -> Iterator[None]:
    """This shell's NAMESRV_ADDR, which the service will not have, is not there meanwhile."""
    named = os.environ.pop("NAMESRV_ADDR", None)
    if named is None:
        yield
        return
    note = "note: the service does not have NAMESRV_ADDR of this shell: -- --namesrv names them"
    click.echo(note, err=True)
    try:
        yield
    finally:
        os.environ["NAMESRV_ADDR"] = named


def _program() -> list[str]:
    """This installation's command, by its full path."""
    script = Path(sys.executable).parent / "trimq"
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    # Without -P it would look for modules in its working directory first.
    return [sys.executable, "-P", "-m", "trimq"]


def _folders_beside(store: Path, plan: "ServerPlan") -> Iterator[Path]:
    """What settings put elsewhere."""
    for path in plan.store.commit_logs:
        if not path.absolute().is_relative_to(store):
            yield path.absolute()


def _folder_of_settings(conf: Path | None, user: User) -> Iterator[Path]:
    """Changes of settings at run time go into the file, by way of another one beside it."""
    if conf is not None and user.may_write(conf.parent):
        yield conf.parent


def _obstacles(
    user: User, installed: Sequence[Path], conf: Path | None, folders: Sequence[Path]
) -> Iterator[str]:
    """A sentence for each thing that the service could not use. `folders`: those that systemd does not make."""
    for path in (*installed, *([] if conf is None else [conf]), *folders):
        if lies_in_a_private_folder(path):
            yield f"{path} cannot be seen by a service, which has a /tmp of its own: put it elsewhere"
    for path in installed:
        if not user.may_read(path):
            yield (
                f"this installation ({path}) cannot be read by {user}, as which the service would run: make one that"
                " everybody can read, by 'python3 -m venv /opt/trimq' and /opt/trimq/bin/pip install"
            )
    if conf is not None and not user.may_read(conf):
        yield f"{conf} cannot be read by {user}: chmod a+r '{conf}', or name its owner by --user"
    for path in folders:
        if not user.may_write(path):
            yield (
                f"{path} is not there, or cannot be written by {user}:"
                f" install -d -o {user.name} -m 700 '{path}' makes it, chown -R {user.name} '{path}' gives it away"
            )


def _endpoints(plan: "ServerPlan", several: bool) -> "list[Endpoint]":
    """What a socket unit can hold; of several brokers each opens its own ports."""
    from trimq.settings.passed_sockets import METRICS, NAMESRV

    found = [
        endpoint
        for name, endpoint in plan.listens_on()
        if not several or name in (NAMESRV, METRICS)
    ]
    if not all(endpoint.port for endpoint in found) or not plan.listen.port:
        raise Misused("port 0 is another one at each start: name the ports, or add --no-socket")
    return found


def _write(units: dict[str, str]) -> None:
    for name, text in units.items():
        path = UNITS / name
        new = path.with_name(f".{name}.new")
        try:
            new.write_text(text, "utf-8")
            new.chmod(0o644)
            new.replace(path)
        except OSError as error:
            raise Refused(f"{path} cannot be written: {error.strerror}") from None
        click.echo(f"written: {path}")
    if SOCKET not in units and (UNITS / SOCKET).exists():
        _systemctl("disable", "--now", SOCKET)
        (UNITS / SOCKET).unlink()
        click.echo(f"removed: {UNITS / SOCKET}")


def _enable(units: dict[str, str], start: bool) -> None:
    _systemctl("daemon-reload")
    _systemctl("enable", *units)
    if not start:
        click.echo(f"not started: systemctl start {' '.join(reversed(units))}")
        return
    # A socket cannot be opened for a service that runs; those that have changed are opened anew.
    _systemctl("stop", *reversed(units))
    for name in (SOCKET, SERVICE):
        if name in units:
            _systemctl("start", name)
    click.echo(f"TriMQ runs: systemctl status {SERVICE}, journalctl -u {SERVICE}")


def _systemctl(*words: str) -> None:
    try:
        done = subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Refused("there is no systemctl here") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().rstrip(".")
        raise Refused(
            f"systemctl {' '.join(words)} failed: {said}. 'journalctl -u {SERVICE} -n 30' says more"
        )
