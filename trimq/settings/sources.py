"""Where the values of a start come from: a config file, the command line, and what operators changed.

The command line wins over the rest. Run-time changes go into the config file; without one they are
kept in a file of their own, which the next start reads.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trimq.settings.former import current
from trimq.settings.parsing import (
    Setting,
    SettingsError,
    read_file,
    read_file_as_it_is,
    settings_of,
    unknown_key,
)
from trimq.settings.rocketmq import Unheeded, unheeded

log: Final = logging.getLogger("trimq.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The texts of a start's settings, and where later changes of them go.

    `texts` are all settings by key, `commanded` the keys of the command line, which wins over the
    file at the next start too. `shown` are texts of what was determined at the start.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    # Of the file, and with blanks behind them.
    with_blanks: Mapping[str, str] = field(default_factory=dict)
    commanded: frozenset[str] = frozenset()
    file: Path | None = None
    # The file is TriMQ's own, for what was changed at run time: nothing guarded is read from it.
    file_is_own: bool = False
    shown: Mapping[str, str] = field(default_factory=dict)


def given(file: Path | None, commanded: Mapping[str, str]) -> Sources:
    """What the file and the command line say; a former name is warned of, and stands for the one of now."""
    written = _by_todays_names(read_file_as_it_is(file)) if file is not None else {}
    commanded = _by_todays_names(commanded)
    texts = {**{key: text.strip() for key, text in written.items()}, **commanded}
    return Sources(
        texts=texts,
        with_blanks={
            key: text
            for key, text in written.items()
            if text != text.strip() and key not in commanded
        },
        commanded=frozenset(commanded),
        file=file,
    )


def _by_todays_names(texts: Mapping[str, str]) -> dict[str, str]:
    found, said = current(texts)
    for sentence in said:
        log.warning(sentence)
    return found


def with_changes(sources: Sources, kept: Path, configs: Iterable[type[Any]]) -> Sources:
    """If no config file is named, run-time changes go to `kept`: read what is there.

    What can be set over the network only: no file and no address comes from there.
    """
    if sources.file is not None:
        if kept.exists():
            log.warning(
                "settings changed at run time are ignored: %s; the file named with --config is "
                "read instead",
                kept,
            )
        return sources
    if not kept.exists():
        return Sources(
            texts=sources.texts, commanded=sources.commanded, file=kept, file_is_own=True
        )
    allowed = {
        key
        for config in configs
        for key, setting in settings_of(config).items()
        if not setting.is_guarded
    }
    found = _by_todays_names(read_file(kept))
    changes = {key: found[key] for key in sorted(allowed & found.keys())}
    if changes:
        log.info("settings changed at run time are read: file=%s keys=%s", kept, ",".join(changes))
    commanded = {key: sources.texts[key] for key in sources.commanded}
    texts = {**sources.texts, **changes, **commanded}
    return Sources(texts=texts, commanded=sources.commanded, file=kept, file_is_own=True)


def only_of(sources: Sources, configs: Iterable[type[Any]]) -> Sources:
    """The part of another server's sources that concerns these configs; their file is not its own."""
    known = {key for config in configs for key in settings_of(config)}
    texts = {key: text for key, text in sources.texts.items() if key in known}
    return Sources(texts=texts, commanded=sources.commanded & texts.keys())


def blanks(setting: Setting, text: str) -> str | None:
    """What RocketMQ makes of a value with blanks behind it, if that is something else than we do.

    MixAll.properties2Object: Java's parsers of whole numbers and truth values take no blank, and what they refuse
    is passed over without a word.
    """
    taken = text.strip()
    if setting.declaration.own:
        return None
    if setting.kind is bool and taken.lower() == "true":
        there = "false"
    elif setting.kind is int:
        default = setting.declaration.rocketmq_default or setting.text(setting.field.default)
        there = "its default" if default is None else f"its default, {default}"
    else:
        return None
    return (
        f"{setting.key}='{text}': read as {taken}, without its blanks; RocketMQ takes {there}, because of them. "
        "Remove the blanks, and write what you want"
    )


def refuse_keys(
    sources: Sources, configs: Iterable[type[Any]], foreign: Mapping[str, Unheeded]
) -> None:
    """SettingsError that names every value which promises what TriMQ does not do."""
    known = {key: one for config in configs for key, one in settings_of(config).items()}
    rules = {key: one.declaration.refused for key, one in known.items()}
    rules |= {key: one.refusal for key, one in foreign.items()}
    refusals = [
        rule.of(key, text) for key, text in sources.texts.items() if (rule := rules.get(key))
    ]
    if any(refusals):
        raise SettingsError("; ".join(filter(None, refusals)))


def check_keys(
    sources: Sources,
    configs: Iterable[type[Any]],
    others: Iterable[type[Any]] = (),
    foreign: Mapping[str, Unheeded] | None = None,
) -> None:
    """Refuse values that promise what TriMQ does not do, and log which keys have no effect.

    `configs` are this server's, `others` those of the other kind of server, `foreign` what RocketMQ has beside them.
    SettingsError names every such value at once.
    """
    known = {key: one for config in configs for key, one in settings_of(config).items()}
    elsewhere = {key for config in others for key in settings_of(config)}
    foreign = unheeded() if foreign is None else foreign
    refuse_keys(sources, configs, foreign)
    rest = [key for key in sources.texts if key not in known]
    for key in rest:
        if key not in foreign and key not in elsewhere:
            log.warning(unknown_key(key, known.keys() | foreign.keys()))
    for key in sorted(sources.with_blanks.keys() & known.keys()):
        warning = blanks(known[key], sources.with_blanks[key])
        if warning is not None:
            log.warning(warning)
    idle: list[str] = []
    for key in rest:
        rule = foreign[key].warning if key in foreign else None
        warning = rule.of(key, sources.texts[key]) if rule is not None else None
        if warning is not None:
            log.warning(warning)
        elif key in foreign or key in elsewhere:
            idle.append(key)
    if idle:
        log.info("settings without effect here, docs/settings.md says why: keys=%s", ",".join(idle))
