"""What TriMQ does otherwise than RocketMQ 5.5.0 on purpose: the one list of it.

`make docs` writes docs/compatibility.md from it; compat_tests/test_wire.py lets exactly the `cases`
named here differ between the two servers, and fails when one of them does not differ any more.

An entry is

    Difference("a sentence for users: what is different, and why", cases=(...), tests=(...))

`cases` are names of wire cases (compat_tests/wire/cases), `tests` are ``path/of/test.py::function``
of tests that demand the difference. An entry needs at least one of either; a unit test sees to it
that all of them exist, and that no case is named twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence for users, and what shows that it is so."""

    text: str
    cases: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


DIFFERENCES: Final = (
    # --- the protocol
    Difference(
        "A reply uses the header coding of its request (JSON or ROCKETMQ); the real server always answers"
        " in its own. Clients decode either.",
        tests=("tests/remoting/test_turn.py::test_the_reply_has_the_coding_of_its_request",),
    ),
    Difference(
        "A reply with a binary header has no remark where the real server's remark is empty: that coding"
        " cannot tell one from the other.",
        cases=("min offset: of messages (binary header)",),
    ),
    Difference(
        "Where the real server fails with a Java exception and sends its text, TriMQ answers with the same"
        " code and a remark of its own.",
        tests=(
            "tests/remoting/test_turn.py"
            "::test_a_missing_header_field_is_a_system_error_without_a_traceback",
        ),
    ),
    Difference(
        "JSON with texts in single quotes is refused: it is not JSON, and no client writes it. fastjson2"
        " reads it.",
        cases=("heartbeat: keys in single quotes", "broker: header in single quotes"),
    ),
    Difference(
        "A list that is null in a heartbeat or a lock request counts as an absent one; the real broker"
        " fails with a NullPointerException. No client sends it.",
        cases=("heartbeat: consumers null", "lock: queues null"),
    ),
    # --- addresses
    Difference(
        "`bindAddress` is 127.0.0.1 unless said otherwise, not 0.0.0.0: a broker without access control"
        " should not be open to the network by accident.",
        tests=("tests/trimq/test_options.py::test_a_server_is_open_to_this_machine_only",),
    ),
    # --- the NameServer
    Difference(
        "Brokers whose names fall into one bucket of Java's hash table are listed by name (the shorter one"
        " first), so that a route is the same from every NameServer and after a broker has come back; the real"
        " NameServer lists those as they came. All others come in its order.",
        tests=(
            "tests/namesrv/test_listing.py::test_names_are_listed_as_if_they_had_come_upwards",
            "tests/namesrv/test_listing.py::test_a_route_is_the_same_after_a_broker_has_come_back",
        ),
    ),
    # --- TLS and balancers
    Difference(
        "A balancer's PROXY preamble is believed from the addresses of `proxyProtocolFrom` only; the real"
        " server believes everybody's.",
        tests=("tests/remoting/test_proxy_protocol.py::test_strangers_are_not_believed",),
    ),
    Difference(
        "A request's header has at most 1 MiB and 512 ext fields, the JSON body of a client (heartbeat, locks, one"
        " topic or group) 1 MiB; JSON nests at most 32 levels deep, and a key that is an object holds no further"
        " objects or arrays. More is answered with code 1. The real server has no such limits.",
        tests=(
            "tests/codec/test_command.py::test_a_header_has_limits",
            "tests/codec/test_json_scan.py::test_so_many_levels_and_no_more",
            "tests/codec/test_json_scan.py::test_keys_that_are_objects_are_flat",
            "tests/codec/test_json_scan.py::test_a_clients_body_has_a_limit_of_a_mebibyte",
        ),
    ),
    Difference(
        "A tag expression has at most 65,536 characters; longer ones are refused as unreadable.",
        tests=(
            "tests/broker/test_tag_filters.py::"
            "test_long_expressions_are_not_remembered_and_longer_ones_refused",
        ),
    ),
    Difference(
        "A client's IPv6 address from a PROXY preamble stands in brackets in front of its port; the real"
        " server leaves them out, and one cannot tell where the address ends.",
        cases=(
            "PROXY preamble: whose connection it is, a line of IPv6",
            "PROXY preamble: whose connection it is, binary of IPv6",
        ),
    ),
    Difference(
        "`tls.server.need.client.auth=require` without authorities to check by refuses the start; the real"
        " server takes any certificate then.",
        tests=("tests/trimq/test_tls.py::test_what_cannot_work_refuses_the_start",),
    ),
    Difference(
        "A configured certificate counts whatever `tls.test.mode.enable` says; the real server shows its"
        " self-signed one as long as that is true.",
        tests=("tests/trimq/test_tls.py::test_a_changed_certificate_is_shown_to_new_connections",),
    ),
    Difference(
        "A changed certificate is used whether its key has changed or not; the real server waits until both"
        " have.",
        tests=("tests/remoting/test_tls.py::test_a_context_follows_its_files",),
    ),
    # --- what is not there yet
    Difference(
        "SQL92 subscriptions are refused as by a broker with `enablePropertyFilter=false`, whether the"
        " expression is valid or not.",
        cases=("pull: SQL in the heartbeat that nobody can parse",),
        tests=("tests/processors/consume/test_pull_message.py::test_refusals",),
    ),
    Difference(
        "Timer messages (TIMER_DELAY_MS and the like) are refused as by a broker with"
        " `timerWheelEnable=false`, also those that are due already.",
        cases=("send: reserved property TIMER_DELAY_SEC",),
        tests=("tests/broker/test_puts.py::test_timer_messages_need_a_wheel",),
    ),
    Difference(
        "Half messages of transactions are refused as by a broker with `rejectTransactionMessage=true`.",
        tests=("tests/processors/produce/test_send_message.py::test_refusals",),
    ),
    Difference(
        "Topics with `cleanup.policy=COMPACTION` are not created: their messages would be deleted by age.",
        cases=("create topic: attributes '+cleanup.policy=COMPACTION'",),
        tests=("tests/processors/admin/test_topic_requests.py::test_compaction_is_not_there_yet",),
    ),
    Difference(
        "A store that another broker wrote and that still has timer messages, half messages, messages"
        " handed out by POP or COMPACTION topics is not opened without `leavePendingMessages=true`.",
        tests=("tests/broker/test_pending.py::test_the_start_is_refused_with_a_sentence",),
    ),
    Difference(
        "Questions about lite topics are answered as by a broker whose lite topics are empty.",
        tests=("tests/processors/test_lite_requests.py::test_an_empty_lite_topic",),
    ),
    Difference(
        "A question about a lite topic or its client that names no topic is told that there is no such"
        " topic; the real broker fails with a NullPointerException.",
        cases=("lite topic: no field", "lite client: no field"),
    ),
    # --- the store
    Difference(
        "Not even a full disk makes TriMQ delete a file before all of it has been flushed.",
        tests=("tests/store/test_cleaning.py::test_what_is_not_flushed_stays",),
    ),
    Difference(
        "After a crash the index is complete; the real broker deletes its last index file and finds only"
        " messages of the last commit-log file by key.",
        tests=(
            "tests/store/test_index_recovery.py::test_a_file_that_nobody_vouches_for_is_built_anew",
        ),
    ),
    Difference(
        "A query by key answers at most 16 MiB, since clients refuse larger frames.",
        tests=(
            "tests/processors/consume/test_query_message.py"
            "::test_no_reply_is_larger_than_clients_take",
        ),
    ),
    Difference(
        "A search by time (LOWER, UPPER) in a queue of type BatchCQ that never had a message is answered as"
        " for any other empty queue; the real broker fails with a NullPointerException.",
        cases=("batch topic: LOWER of nothing", "batch topic: UPPER of nothing"),
    ),
    # --- static topics
    Difference(
        "Static topics whose queues have moved: a search by time finds the first part that has it (the real broker"
        " answers 0, or the end of a part that lies on it), GET_EARLIEST_MSG_STORETIME asks for the part's own queue,"
        " an offset that a pull commits is kept as the part's own, and a reset reaches a group that has read"
        " everything. UPDATE_AND_CREATE_STATIC_TOPIC refuses the mapping of another broker. A wrong mapping changes"
        " nothing; the real broker changes the topic all the same.",
        tests=(
            "tests/processors/offsets/test_static_offsets.py::test_both_parts_here",
            "tests/processors/consume/test_static_pulls.py"
            "::test_offsets_that_pulls_commit_become_the_parts_own",
            "tests/broker/test_topic_mappings.py::test_a_mapping_of_another_broker_is_refused",
        ),
    ),
    Difference(
        "While a static topic's queue moves, its end is that of the old part; the real broker asks the old"
        " part for the new part's queue.",
        cases=("static parts: undecided",),
    ),
    # --- operating
    Difference(
        "UPDATE_BROKER_CONFIG and UPDATE_NAMESRV_CONFIG refuse what cannot be read or lies outside of the setting's"
        " limits; the real ones take any number that Java can read, and answer the rest with success.",
        cases=(
            "settings: no number",
            "settings: a number of 33 bits",
            "settings: neither true nor false",
        ),
        tests=(
            "tests/trimq/test_running_settings.py::test_what_is_not_allowed_changes_nothing",
            "tests/trimq/test_running_settings.py::test_no_interval_ends_the_name_server",
        ),
    ),
    Difference(
        "Files, addresses, `tls.*` and secrets cannot be changed over the network (NO_PERMISSION).",
        tests=(
            "tests/trimq/test_running_settings.py"
            "::test_files_addresses_and_protection_are_not_set_over_the_network",
        ),
    ),
    Difference(
        "A change of settings that is not in force at once, or of a key that does not exist, is a success whose"
        " remark says so; the real ones say nothing.",
        cases=("settings: one of several unknown", "settings: update of an unknown key"),
        tests=(
            "tests/trimq/test_running_settings.py"
            "::test_what_needs_a_new_start_says_so_and_what_holds_is_shown",
        ),
    ),
    Difference(
        "A setting that promises what TriMQ does not do yet, or a number or boolean of a config file that cannot be"
        " read, refuses the start; the real servers take their default for what they cannot read.",
        tests=(
            "tests/trimq/test_rocketmq_settings.py::test_what_promises_too_much_is_refused",
            "tests/trimq/test_settings.py::test_a_bad_value_names_key_value_and_what_is_allowed",
        ),
    ),
    Difference(
        "Changed settings are written into their lines of the config file, or, where none is named, into a file that"
        " the next start reads; the real ones write every setting, and read it with `-c` only.",
        tests=("tests/trimq/test_running_settings.py::test_without_a_config_file_success_lasts",),
    ),
    Difference(
        "SWITCH_TIMER_ENGINE is answered as by a broker with `timerWheelEnable=false`.",
        tests=("tests/admin/test_clients.py::test_requests_for_single_brokers",),
    ),
    Difference(
        "SET_COMMITLOG_READ_MODE has no effect: the log is read ahead of each reader, not by mappings.",
        tests=("tests/processors/admin/test_broker_requests.py::test_read_ahead_is_as_it_is",),
    ),
    Difference(
        "GET_BROKER_CONFIG has the settings that TriMQ knows, and whatever else is in the config file, with the"
        " values that are in force; secrets are masked.",
        tests=(
            "tests/trimq/test_running_settings.py::test_every_setting_is_shown",
            "tests/trimq/test_running_settings.py::test_secrets_are_written_but_not_shown",
        ),
    ),
    Difference(
        "Runtime info: thread pool queues are always empty, and how long puts take is not measured.",
        tests=("tests/processors/admin/test_broker_requests.py::test_an_idle_broker",),
    ),
    Difference(
        "VIEW_BROKER_STATS_DATA counts messages, bytes and what was sent back per topic, group and"
        " broker; latencies and acknowledgements are not counted. A batch counts as one go per message.",
        tests=("tests/broker/test_stats.py::test_a_record_may_hold_several_messages",),
    ),
    Difference(
        "QUERY_CORRECTION_OFFSET leaves out the groups of filterGroups; the real broker deletes their"
        " offsets.",
        tests=(
            "tests/processors/offsets/test_moving_groups.py::test_the_lowest_offset_of_all_groups",
        ),
    ),
)


def deliberate_cases() -> dict[str, str]:
    """Wire case -> why TriMQ answers it otherwise."""
    return {case: one.text for one in DIFFERENCES for case in one.cases}
