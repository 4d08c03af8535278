"""`mqbroker -p` and `-m`, `mqnamesrv -p`: the settings that a start would have, one a line, and nothing is started.

A line is one of RocketMQ's console log (`rmq.broker.logback.xml`: time in GMT+8, level, thread), as scripts read it.
RocketMQ leaves out the store's settings and prints `-p` before `-n` counts; here is what would be in force.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

from trimq.settings.options import (
    NamesrvOptions,
    ServerOptions,
    ServerPlan,
    namesrv_plan,
    server_plan,
    told_endpoint,
)
from trimq.settings.parsing import SettingsError, parse_assignments, settings_of

# Those of BrokerConfig that RocketMQ marks as important and TriMQ has, and who the broker is.
IMPORTANT: Final = (
    *("brokerClusterName", "brokerName", "brokerId", "namesrvAddr", "listenPort", "brokerIP1"),
    *("autoCreateTopicEnable", "autoCreateSubscriptionGroup", "msgTraceTopicName"),
    *("traceTopicEnable", "rejectTransactionMessage", "transactionTimeOut"),
    *("transactionCheckMax", "transactionCheckInterval"),
)
_ZONE: Final = timezone(timedelta(hours=8))


def lines(kind: str, only: str, words: Sequence[str]) -> Iterator[str]:
    """Of `trimq KIND WORDS`; `only`: "all" or "important". SettingsError, AddressError."""
    options = _options(words)
    settings = parse_assignments(options.pop("set", ()))
    config = _path(options, "config")
    if kind == "namesrv":
        listening = _one(options, "listen")
        plan = namesrv_plan(NamesrvOptions(listen=listening, config=config, settings=settings))
        found = _texts(plan.namesrv, plan.server, plan.tls) | dict(plan.sources.shown)
    else:
        found = _of_broker(
            server_plan(
                ServerOptions(
                    config=config,
                    namesrv=_one(options, "namesrv"),
                    listen=_one(options, "listen"),
                    store=_path(options, "store"),
                    settings=settings,
                )
            )
        )
    time = datetime.now(_ZONE).strftime("%Y-%m-%d %H:%M:%S")
    for key, text in found.items():
        if only == "all" or key in IMPORTANT:
            yield f"{time} INFO main - {key}={text}"


def _of_broker(plan: ServerPlan) -> dict[str, str]:
    found = _texts(plan.broker, plan.server, plan.tls, plan.replication, plan.store)
    return found | {
        "listenPort": str(plan.listen.port),
        "bindAddress": plan.listen.host,
        "brokerIP1": told_endpoint(plan, plan.listen.port).host,
    }


def _texts(*configs: Any) -> dict[str, str]:
    found = {}
    for config in configs:
        for key, setting in settings_of(type(config)).items():
            text = setting.text(getattr(config, setting.attribute)) or ""
            found[key] = "******" if text and setting.declaration.secret else text
    return found


def _options(words: Sequence[str]) -> dict[str, list[str]]:
    """`--flag value` pairs, as servers.py writes them."""
    found: dict[str, list[str]] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        found.setdefault(flag.removeprefix("--"), []).append(value)
    return found


def _one(options: dict[str, list[str]], name: str) -> str | None:
    return options[name][-1] if name in options else None


def _path(options: dict[str, list[str]], name: str) -> Path | None:
    text = _one(options, name)
    return None if text is None else Path(text)


def main(words: Sequence[str]) -> int:
    """Print them; the exit code."""
    kind, only, *rest = words
    try:
        for line in lines(kind, only, rest):
            print(line)
    except (SettingsError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
