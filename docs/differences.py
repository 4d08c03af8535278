"""What TriMQ deliberately does differently from RocketMQ 5.5.1: the only list of it.

`make docs` writes docs/compatibility.md from it; compat_tests/wire/test_wire.py lets exactly the `cases`
named here differ between the two servers, and fails when one of them no longer differs.

An entry is

    Difference("a sentence for users: what is different, and why", cases=(...), calls=(...), tests=(...))

`cases` are names of wire cases (compat_tests/wire/cases), `calls` of gRPC calls (compat_tests/proxy/cases), `tests` are
``path/of/test.py::function`` of tests that require the difference. An entry needs at least one of them; a unit test
ensures that all of them exist, and that no case is named twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence for users, and what shows that it is so."""

    text: str
    cases: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


DIFFERENCES: Final = (
    # --- long answers
    Difference(
        "Answers that take long (settings and statistics of topics with thousands of queues, tables of all groups) are"
        " made in steps, one at a time for a connection, and a connection that asks for 64 of them is not read until"
        " half are done: its other requests wait, too. With RocketMQ a few threads make them, one behind the other.",
        tests=(
            "tests/remoting/serving/test_long_work.py::test_beyond_so_many_the_connection_is_not_read",
            "tests/remoting/serving/test_long_work.py::test_answers_that_are_not_read_are_not_made",
        ),
    ),
    Difference(
        "Lists of topics or groups to delete are done one after the other at their rate, and 100,000 names may wait:"
        " what is more is refused as busy (2). With RocketMQ a thread of its administrators' pool waits for each.",
        tests=("tests/broker/services/test_deletion_lists.py::test_only_so_many_names_wait",),
    ),
    # --- masters and slaves
    Difference(
        "A slave whose log ends behind its master's, or before its first file, gets nothing, counts for nothing, and an"
        " error line a minute says what to do. The real master goes on to send from its own end, so that the logs"
        " differ for ever, or stays silent.",
        tests=(
            "tests/replication/test_stream.py"
            "::test_nothing_goes_to_a_slave_that_is_ahead_or_too_far_behind",
        ),
    ),
    Difference(
        "A slave compares its log with its master's before it copies anything. From a master whose log ends earlier or"
        " has another message where the slave's has its last, nothing is copied, and no table is followed: an error"
        " line says whose store to keep. A real slave follows the tables of such a master and appends to its log.",
        tests=(
            "tests/trimq/replication/test_lost_master.py::test_the_slave_keeps_what_only_it_has",
            "tests/trimq/replication/test_lost_master.py"
            "::test_a_master_that_has_outgrown_its_slave_is_another_one",
        ),
    ),
    Difference(
        "Topics, groups, request modes and static topics that a slave's master does not have stay on the slave, and a"
        " table that is older than the slave's only adds what is missing. A real slave's tables become the master's.",
        tests=(
            "tests/broker/tables/test_replicated.py::test_what_the_master_does_not_have_stays",
            "tests/broker/tables/test_replicated.py"
            "::test_an_older_table_changes_nothing_and_adds_what_is_missing",
        ),
    ),
    Difference(
        "A topic that is deleted on a TriMQ master is deleted on its TriMQ slaves too, with its queues. A real slave"
        " keeps the queues.",
        tests=(
            "tests/trimq/replication/test_lost_master.py::test_a_topic_that_is_deleted_and_made_anew",
        ),
    ),
    Difference(
        "A slave that is told by EXCHANGE_BROKER_HA_INFO where its master is asks the registered master, and goes"
        " there only if that does not answer and the sender is on its host, or NameServers know no master. A real slave"
        " goes wherever anybody sends it.",
        tests=("tests/broker/services/test_masters_address.py::test_whose_word_counts",),
    ),
    Difference(
        "A connection to the port for slaves that says nothing is closed 5 s after `haSendHeartbeatInterval`, or"
        " earlier when another one needs its place; there are 64 places, 16 for one address. The real port has no"
        " limit.",
        tests=(
            "tests/replication/test_admission.py::test_silent_links_keep_no_slave_out",
            "tests/replication/test_admission.py::test_a_link_that_says_nothing_leaves",
        ),
    ),
    Difference(
        "A record in the log that continues no queue, or whose topic cannot be a folder, has no place in a queue; a"
        " line says so. The real server enters it wherever the queue ends, and makes whatever folder the name says.",
        tests=(
            "tests/hostile/test_forged_log.py::test_one_forged_record",
            "tests/store/opening/test_recovery.py::test_a_record_that_does_not_continue_its_queue",
        ),
    ),
    Difference(
        "With `haFlowControlEnable` the sender sleeps when a second's budget is used up; the real one sends empty"
        " frames in a tight loop.",
        tests=(
            "tests/replication/test_stream.py::test_flow_control_sleeps_instead_of_sending_nothing",
        ),
    ),
    Difference(
        "The version of GET_ALL_DELAY_OFFSET's table counts what was delivered; the real one also counts looks that"
        " found nothing to deliver.",
        tests=("tests/broker/delivery/test_delays.py::test_the_file_is_that_of_the_real_broker",),
    ),
    Difference(
        "A slave asks for its master's tables when it starts and when it meets a topic that it does not know, and"
        " once a minute; the real one only every minute.",
        tests=(
            "tests/trimq/replication/test_reading_and_names.py"
            "::test_a_slave_answers_readers_with_and_without_its_master",
        ),
    ),
    Difference(
        "The port for slaves is closed where `tls.server.mode` is `enforcing`, unless `haEnable=true`: the log would"
        " leave it in plain text.",
        tests=(
            "tests/trimq/settings/test_rocketmq.py"
            "::test_a_log_in_plain_text_is_not_served_where_tls_is_enforced",
        ),
    ),
    Difference(
        "`enableAutoInSyncReplicas` and `minInSyncReplicas` have no effect: they count with a controller or slaves that"
        " act as masters, which TriMQ refuses.",
        tests=("tests/trimq/settings/test_rocketmq.py::test_what_promises_nothing_starts",),
    ),
    # --- the protocol
    Difference(
        "A reply uses the header coding of its request (JSON or ROCKETMQ); the real server always answers"
        " in its own. Clients decode either.",
        tests=(
            "tests/remoting/serving/test_receive_frames.py::test_the_reply_has_the_coding_of_its_request",
        ),
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
            "tests/remoting/serving/test_receive_frames.py"
            "::test_a_missing_header_field_is_a_system_error_without_a_traceback",
        ),
    ),
    Difference(
        "A request whose header or body cannot be read is answered with SYSTEM_ERROR and a remark that says what is"
        " wrong at which byte, and the requests behind it are served; over a header the real server closes the"
        " connection. A request in which not even an opaque is found is passed over.",
        cases=(
            "unlike JSON: value of a field, unread",
            "unlike JSON: properties, unread",
            "unlike JSON: the request behind, unread",
            "broker: binary header, cut in its fixed part",
            "broker: binary header, cut in its fields",
            "broker: binary header, remark length negative",
            "broker: binary header, remark length huge",
            "broker: binary header, field length huge",
            "broker: binary header, key length huge",
            "broker: binary header, key length negative",
            "broker: binary header, empty",
            "broker: header, code no number",
            "broker: header, fields a text",
            "broker: header, fields a list",
            "broker: header no JSON",
            "broker: header empty",
            "broker: header null",
            "broker: header a list",
            "broker: header not UTF-8",
            "broker: frame of length 4, header 0",
            "namesrv: frame of length 4, header 0",
        ),
    ),
    Difference(
        "A NameServer refuses the registration of a broker without brokerName, brokerAddr or clusterName with"
        " SYSTEM_ERROR; the real one lists a broker, an address or a cluster `null`.",
        tests=("tests/namesrv/test_processors.py::test_register_broker_refuses_what_has_no_name",),
    ),
    Difference(
        "A group whose `groupRetryPolicy` is sent as null gets the default one; the real broker keeps the null.",
        cases=("odd fields: a group whose retry policy is null",),
    ),
    Difference(
        "A pull, or a message sent back, that lacks a field is told so before the broker's permissions are looked at.",
        cases=("odd fields: a broker without permissions",),
    ),
    Difference(
        "JSON that only fastjson2 takes for JSON (halves of surrogate pairs, control characters, bytes that are no"
        " UTF-8, single quotes, commas too many or too few) is read as there. TriMQ reads comments wherever a blank may"
        " be, and keys that fastjson2's reader of names fails at, but none with a byte that begins no character; what a"
        " client sends may have 4,096 such pieces, escapes counting a quarter.",
        cases=("unlike JSON: header, unread", "unlike JSON: key of a heartbeat, unread"),
    ),
    Difference(
        "A list that is null in a heartbeat or a lock request counts as an absent one; the real broker"
        " fails with a NullPointerException. No client sends it.",
        cases=("heartbeat: consumers null", "lock: queues null"),
    ),
    # --- addresses
    Difference(
        "`bindAddress` is 127.0.0.1 by default, not 0.0.0.0: a broker without access control"
        " should not be open to the network by accident.",
        tests=("tests/trimq/settings/test_options.py::test_a_server_is_open_to_this_machine_only",),
    ),
    Difference(
        "A loopback address that clients or slaves are told (`brokerIP1`, `brokerIP2`) is listened on, too, unless it"
        " was said where to listen. Any other address on which nothing would listen is refused, or warned of if it"
        " was said.",
        tests=(
            "tests/field/test_told_addresses.py::test_an_address_that_is_told_is_served",
            "tests/field/test_told_addresses.py::test_clients_and_slaves_get_through",
        ),
    ),
    # --- the NameServer
    Difference(
        "A broker is ready when a first NameServer has accepted it, or after some seconds with a warning that names"
        " those that have not; the real broker says that it is up before it has registered anywhere.",
        tests=(
            "tests/field/test_new_broker_old_name_servers.py"
            "::test_ready_with_a_warning_that_names_who_is_missing",
        ),
    ),
    Difference(
        "What an older server leaves unanswered is not asked again for ten minutes, and takes no connection away:"
        " with `compatibleWithOldNameSrv=false`, `forceRegister=false` or `enableSingleTopicRegister=true` a NameServer"
        " of 4.x, and a slave's master of 4.x, which the slave finds by its NameServer.",
        tests=(
            "tests/field/test_new_broker_old_name_servers.py::test_registered_at_once",
            "tests/field/test_new_broker_old_name_servers.py::test_new_topics_and_versions_of_tables",
            "tests/field/test_new_slave_old_master.py::test_a_slave_follows_what_there_is",
        ),
    ),
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
        "A load balancer's PROXY preamble is accepted from the addresses of `proxyProtocolFrom` "
        "only; the real server accepts anybody's.",
        tests=("tests/remoting/wire/test_proxy_protocol.py::test_strangers_are_not_believed",),
    ),
    Difference(
        "A request's header has at most 1 MiB and 512 ext fields, the JSON body of a client (heartbeat, locks, one"
        " topic or group) 1 MiB; JSON nests at most 32 levels deep, and a key that is an object holds no further"
        " objects or arrays. Anything beyond that is answered with code 1. The real server has no such limits.",
        tests=(
            "tests/codec/frames/test_command.py::test_a_header_has_limits",
            "tests/codec/java/test_json_scan.py::test_so_many_levels_and_no_more",
            "tests/codec/java/test_json_scan.py::test_keys_that_are_objects_are_flat",
            "tests/codec/java/test_json_scan.py::test_a_clients_body_has_a_limit_of_a_mebibyte",
        ),
    ),
    Difference(
        "A tag expression has at most 65,536 characters; longer ones are refused as unreadable.",
        tests=(
            "tests/broker/filters/test_tags.py::"
            "test_long_expressions_are_not_remembered_and_longer_ones_refused",
        ),
    ),
    Difference(
        "A pull that brings along an SQL92 expression that cannot be read, or one of an unknown type, is refused with"
        " SUBSCRIPTION_PARSE_FAILED and what was expected where; the real broker then returns every message.",
        cases=("pull, filters allowed: its own that cannot be read",),
        tests=(
            "tests/processors/consume/test_filtered_pulls.py"
            "::test_its_own_expression_cannot_be_read",
        ),
    ),
    Difference(
        "An SQL92 expression has at most 65,536 characters, in which conditions nest at most 200 deep, and BETWEEN not"
        " a dozen times in what is before BETWEEN; a message for which evaluating it would look at more than a MiB"
        " (thousands of conditions on values of many KiB) does not match. 2 MiB of expressions are kept"
        " (`maxFilterCharacters`).",
        tests=(
            "tests/codec/sql/test_grammar.py::test_so_deep_and_no_deeper",
            "tests/codec/sql/test_grammar.py::test_between_inside_of_between_is_evaluated_in_bounds",
            "tests/codec/sql/test_grammar.py::test_so_long_and_no_longer",
            "tests/codec/sql/test_terms.py::test_one_message_costs_only_so_much",
            "tests/broker/filters/test_consumer_filters.py::test_only_so_much_is_kept",
        ),
    ),
    Difference(
        "A client's IPv6 address from a PROXY preamble is put in brackets before its port; the "
        "real server leaves them out, so that nobody can tell where the address ends.",
        cases=(
            "PROXY preamble: whose connection it is, a line of IPv6",
            "PROXY preamble: whose connection it is, binary of IPv6",
        ),
    ),
    Difference(
        "`tls.server.need.client.auth=require` without authorities to check against refuses the "
        "start; the real server then accepts any certificate.",
        tests=("tests/trimq/process/test_tls.py::test_what_cannot_work_refuses_the_start",),
    ),
    Difference(
        "A configured certificate is used whatever `tls.test.mode.enable` says; the real server "
        "presents its self-signed one while that is true.",
        tests=(
            "tests/trimq/process/test_tls.py::test_a_changed_certificate_is_shown_to_new_connections",
        ),
    ),
    Difference(
        "A changed certificate is used whether its key has changed or not; the real server waits until both"
        " have.",
        tests=("tests/remoting/tls/test_tls.py::test_a_context_follows_its_files",),
    ),
    # --- the gRPC proxy
    Difference(
        "The address in a route of TriMQ's proxy is the one that the client says it has called, with its port, or,"
        " when it names none, the one of its connection. RocketMQ's proxy puts its own port behind the client's host"
        " (`useEndpointPortFromRequest` is false), names nothing for a client that does not, and fails without a"
        " scheme.",
        calls=(
            "route: endpoints none",
            "route: endpoints a name",
            "route: endpoints IPv6",
            "route: endpoints two",
            "route: endpoints without a scheme",
            "assignment: without endpoints",
        ),
    ),
    Difference(
        "TriMQ's proxy serves a client whose language RocketMQ has no name for; RocketMQ's proxy ends its stream of"
        " telemetry with the text of an exception.",
        calls=(
            "caller: telemetry, language none",
            "caller: telemetry, language DOT_NET",
            "caller: telemetry, language nobody's",
        ),
    ),
    Difference(
        "TriMQ's proxy looks for a transaction that it knows nothing of in its broker's index, so that a commit after a"
        " minute or a restart works; RocketMQ's proxy forgets where a half message lies after 30 s.",
        calls=("end: nothing was sent", "end: of another topic", "namespace: EndTransaction"),
    ),
    # --- queues that the broker chooses
    Difference(
        "A message that a consumer sends back goes to a queue of the retry topic that is there and is read. RocketMQ"
        " draws the queue from the group's `retryQueueNums`, however many the topic has, so with a narrower topic most"
        " of them lie where no consumer looks (apache/rocketmq 3953). The same holds for a send that leaves the queue"
        " to the broker (queue id -1).",
        tests=(
            "tests/field/test_narrow_retry_topics.py::test_what_is_sent_back_is_read",
            "tests/field/test_narrow_retry_topics.py"
            "::test_a_broker_that_may_choose_takes_a_queue_that_is_read",
        ),
    ),
    Difference(
        "What was delayed, timed or half when its topic lost queues is delivered to one that is left. RocketMQ puts it"
        " into the queue of before, which nobody reads.",
        tests=(
            "tests/field/test_narrow_retry_topics.py"
            "::test_retries_come_back_to_a_queue_that_is_read",
            "tests/field/test_narrow_retry_topics.py::test_a_timer_message_and_a_committed_one_too",
        ),
    ),
    Difference(
        "With a lower `reviveQueueNum` than before, what is in the other revive queues is still revived, and may be"
        " acknowledged; delay levels that a shorter `messageDelayLevel` leaves out are named in the log at the start"
        " when messages wait there. RocketMQ forgets both.",
        tests=(
            "tests/field/test_narrow_retry_topics.py"
            "::test_revive_queues_that_are_more_than_the_setting_says",
            "tests/field/test_narrow_retry_topics.py"
            "::test_levels_that_the_setting_does_not_have_any_more_are_named",
        ),
    ),
    # --- transactions
    Difference(
        "A half message that asks for a delay (DELAY, TIMER_*) is refused with 13; the real broker accepts it and"
        " never delivers it.",
        cases=("half: with DELAY", "half: with TIMER_DELAY_SEC", "half: with TIMER_DELIVER_MS"),
        calls=("send to TRANSACTION: half with a delivery time",),
        tests=(
            "tests/broker/transactions/test_half_messages.py::test_what_a_half_message_must_not_ask_for",
        ),
    ),
    Difference(
        "A committed message is delivered once, however often its transaction is ended and whenever the broker"
        " is killed; the real broker writes down what was ended up to three seconds later.",
        tests=(
            "tests/broker/transactions/test_half_messages.py"
            "::test_an_end_again_stores_nothing_and_is_answered_the_same",
            "tests/broker/transactions/test_restarts.py::test_a_commit_torn_at_any_byte",
        ),
    ),
    Difference(
        "An END for a place where the half message lay before it was put back decides it where it lies now, and the"
        " committed message names that place (preparedTransactionOffset); the real broker names the older one, and asks"
        " about the half once more.",
        tests=(
            "tests/broker/transactions/test_checking.py"
            "::test_an_end_for_an_older_place_decides_the_half_where_it_lies",
        ),
    ),
    Difference(
        "Putting a half message back because of CHECK_IMMUNITY_TIME_IN_SECONDS does not count as a check.",
        tests=(
            "tests/broker/transactions/test_checking.py::test_a_put_back_for_immunity_is_no_check",
        ),
    ),
    Difference(
        "RESUME_CHECK_HALF_MESSAGE stores nothing for a half message that is pending already or was delivered (0), and"
        " refuses what is no half message (1); the real broker puts any readable record among the pending ones.",
        tests=(
            "tests/broker/transactions/test_checking.py"
            "::test_a_half_that_was_given_up_is_taken_up_again",
            "tests/broker/transactions/test_checking.py::test_what_was_delivered_is_not_taken_up_again",
            "tests/broker/transactions/test_checking.py::test_what_is_no_half_is_not_taken_up_again",
        ),
    ),
    # --- timers
    Difference(
        "A timer message whose properties would be too long with those that its delivery adds is refused (13) when it"
        " is sent; the real broker takes it, and cannot deliver it.",
        cases=("timer: properties without room for what delivery adds",),
        tests=(
            "tests/broker/timers/test_schedule_rule.py::test_what_could_not_be_delivered_is_not_taken",
        ),
    ),
    Difference(
        "A batch that carries a timer's property as a whole is refused (13), as one with a delay level is. The real"
        " broker puts it on its wheel, which then delivers nothing any more.",
        tests=("tests/broker/produce/test_batches.py::test_a_batch_does_not_wait",),
    ),
    Difference(
        "Timer messages of a slot are delivered in the order of their sends, and each is tried until it is"
        " stored; the real broker delivers in any order, drops a message after three tries, and delivers"
        " others of its batch again.",
        tests=(
            "tests/broker/timers/test_delivering.py::test_messages_of_a_slot_come_in_the_order_of_their_sends",
            "tests/broker/timers/test_delivering.py::test_a_full_disk_delays_and_loses_nothing",
            "tests/broker/timers/test_delivering.py::test_one_that_its_queue_refuses_waits_alone",
        ),
    ),
    Difference(
        "Timer messages that were delivered are not delivered again after a crash.",
        tests=("tests/broker/timers/test_kills.py::test_half_of_a_slot_delivered",),
    ),
    Difference(
        "The roll window of timer messages is at most half of `fileReservedTime`, and slots that are done are"
        " emptied; in the real broker a message that waits longer than its file is kept is lost.",
        tests=(
            "tests/store/timers/test_timer_store.py::test_the_window_is_half_of_what_files_are_kept",
            "tests/store/timers/test_recovery.py::test_slots_that_are_done_are_emptied",
        ),
    ),
    Difference(
        "Timer messages that came due while the broker was away for weeks, or whose slots are wanted for others since"
        " the clock was set back by weeks, are delivered; the real broker begins behind them, or forgets them.",
        tests=(
            "tests/store/timers/test_recovery.py"
            "::test_a_broker_that_was_away_for_long_delivers_what_was_due",
            "tests/trimq/clock/test_services.py::test_timers_whose_slots_are_taken",
            "tests/trimq/clock/test_services.py::test_timers",
        ),
    ),
    Difference(
        "A message in rmq_sys_wheel_timer without a time is skipped with a line in the log; in the real"
        " broker it ends all timers.",
        tests=(
            "tests/broker/timers/test_delivering.py::test_a_message_without_a_time_stops_nobody",
        ),
    ),
    Difference(
        "Deleting a topic with `cleanup.policy=COMPACTION` deletes its compacted queues: the real broker keeps"
        " them, and a topic of the same name that is made later loses its first messages.",
        tests=(
            "tests/broker/compaction/test_compaction.py::test_a_topic_that_is_made_again_begins_anew",
        ),
    ),
    Difference(
        "Once the commit-log file of a compacted queue's first messages is gone, the queue's smallest offset is that of"
        " the first message that can be pulled; the real broker names the first one in the commit log.",
        tests=("tests/broker/compaction/test_compaction.py::test_messages_outlive_their_log_file",),
    ),
    Difference(
        "A compacted queue is rewritten however many keys it has, in several turns if need be, and whatever of it is"
        " deleted; the real broker fails when `maxOffsetMapSize` is full or when nothing is left.",
        tests=(
            "tests/store/compaction/test_rewriting.py::test_more_keys_than_it_looks_at_once",
            "tests/store/compaction/test_rewriting.py::test_everything_may_go",
        ),
    ),
    Difference(
        "A pop or a peek of a topic with `cleanup.policy=COMPACTION` reads the topic's ordinary queue and heeds its"
        " filter: what lies only in the compacted queue is pulled, not popped. The real broker reads the compacted"
        " queue, and no filter counts.",
        tests=(
            "tests/processors/pop/test_popped_places.py"
            "::test_a_compacted_topic_is_popped_from_its_ordinary_queue",
        ),
    ),
    # --- POP
    Difference(
        "A handle (extraInfo) that is no handle, or that names a revive queue which does not exist, is answered with"
        " code 1 and a sentence that says what is wrong with it; the real broker says nothing about it, or takes the"
        " acknowledgement and never finds it again.",
        cases=(
            "pop: ack, a handle of a revive queue beyond",
            "pop: change, a handle of a revive queue beyond",
            "pop: change, a handle with letters for its time",
            "pop: change, a handle with two blanks",
            "pop: change, a handle of 65 bits",
        ),
        tests=("tests/codec/pop/test_handle.py::test_what_is_wrong_is_said",),
    ),
    Difference(
        "An acknowledgement, a change of the invisible time, a peek or a notification that names no group is refused"
        " (1) before anything else; the real broker stores what belongs to nobody, and misses the group later.",
        cases=(
            "pop: ack without consumerGroup",
            "pop: change without consumerGroup",
            "peek: without consumerGroup",
            "notification: without consumerGroup",
        ),
    ),
    Difference(
        "An acknowledgement that could not be stored is answered as a failed send is; the real broker answers that"
        " all is well, and the message comes again.",
        tests=(
            "tests/processors/pop/test_pop.py::test_an_ack_that_cannot_be_stored_is_a_failed_send",
        ),
    ),
    Difference(
        "An entry of a batch acknowledgement that cannot be read is answered with code 1, and it alone is left out; the"
        " real broker forgets those behind it, too, and their messages come again.",
        tests=(
            "tests/processors/pop/test_pop.py"
            "::test_an_entry_of_a_batch_that_cannot_be_read_is_left_out_alone",
        ),
    ),
    Difference(
        "Messages cannot be hidden longer than timer messages may wait (`timerMaxDelaySec`): such a pop or change of"
        " the invisible time is refused with 29 and a sentence. The real broker hands the messages out without"
        " noting it, again and again, and refuses the change with 1.",
        cases=(
            "pop: found, hidden for ever",
            "pop: found, hidden longer than timers wait",
            "pop: hidden again for 300000000",
            "pop: hidden again for 9223372036854775807",
        ),
        tests=("tests/processors/pop/test_pop.py::test_nothing_is_hidden_longer_than_timers_wait",),
    ),
    Difference(
        "Messages of clients for the topics by which the broker itself revives and waits (`rmq_sys_REVIVE_LOG_...`,"
        " `rmq_sys_wheel_timer`) are refused with 16, as those for delays and half messages are, by every way they can"
        " take; the real broker stores them, and what they say stops its reviving, or has it write without end.",
        tests=(
            "tests/hostile/test_own_topics.py::test_every_code_that_sends",
            "tests/hostile/test_own_topics.py::test_every_kind_of_message",
            "tests/hostile/test_own_topics.py::test_a_recall",
        ),
    ),
    Difference(
        "A checkpoint is settled at its own time, whatever was read before it, so that a clock that was set back holds"
        " up only what was popped before; one that cannot be read, or is hidden until a time that no pop can ask for,"
        " is left out with a line in the log. The real broker goes through them in the order in which they were"
        " written, and stops at the first that is not due.",
        tests=(
            "tests/processors/pop/test_clock_jumps.py::test_back_while_some_are_open",
            "tests/hostile/test_forged_checkpoints.py"
            "::test_times_of_no_pop_stop_nobody_and_do_not_stay",
        ),
    ),
    Difference(
        "A pop or a pull that waits is answered at once when its group's offset is reset, and a pop when it is set"
        " back; in the real broker it waits for the next message or for its time.",
        tests=("tests/processors/pop/test_wakes.py::test_each_event_and_who_waits",),
    ),
    Difference(
        "`enablePopBufferMerge`, `appendAckAsync`, `appendCkAsync` and `popConsumerFSServiceInit` have no effect: TriMQ"
        " writes each checkpoint and each acknowledgement into the log before it answers, in the records that the real"
        " broker writes without merging them in memory. With `popConsumerKVServiceEnable=true` a start warns that"
        " nothing is read from RocksDB.",
        tests=(
            "tests/processors/pop/test_in_flight.py::test_each_checkpoint_and_acknowledgement_is_a_record",
            "tests/trimq/settings/test_rocketmq.py::test_pop_settings_without_effect",
            "tests/trimq/settings/test_rocketmq.py::test_pop_in_rocksdb_is_warned_of",
        ),
    ),
    # --- what is not there yet
    Difference(
        "A store that another broker wrote and that still has half messages in RocksDB, what was popped there"
        " (popConsumerKVServiceEnable), or timer messages, topics, groups or offsets, is not opened without"
        " `leavePendingMessages=true`.",
        tests=("tests/broker/test_pending.py::test_the_start_is_refused_with_a_sentence",),
    ),
    # --- the store
    Difference(
        "Even on a full disk TriMQ does not delete a file before all of it has been flushed.",
        tests=("tests/store/upkeep/test_cleaning.py::test_what_is_not_flushed_stays",),
    ),
    Difference(
        "After a crash the index is complete; the real broker deletes its last index file and finds only"
        " messages of the last commit-log file by key.",
        tests=(
            "tests/store/opening/test_index_recovery.py::test_a_file_that_nothing_vouches_for_is_rebuilt",
        ),
    ),
    Difference(
        "A query by key returns at most 16 MiB, since clients refuse larger frames.",
        tests=(
            "tests/processors/messages/test_query_message.py"
            "::test_no_reply_is_larger_than_clients_take",
        ),
    ),
    Difference(
        "A search by time (LOWER, UPPER) in a queue of type BatchCQ that never had a message is answered as"
        " for any other empty queue; the real broker fails with a NullPointerException.",
        cases=("batch topic: LOWER of nothing", "batch topic: UPPER of nothing"),
    ),
    Difference(
        "CLEAN_EXPIRED_CONSUMEQUEUE (`mqadmin cleanExpiredCQ`) leaves a queue alone in whose offsets something counts:"
        " a group that has one, the map of a static or elastic topic, a compacted topic's own files. RocketMQ deletes"
        " it, its messages count from 0 again, and as many of them are passed over as there were before; those of a"
        " compacted topic nobody ever gets. CLEAN_UNUSED_TOPIC forgets the offsets with the queues.",
        tests=(
            "tests/processors/retention/test_renumbered_queues.py"
            "::test_all_that_is_sent_afterwards_is_read",
        ),
    ),
    Difference(
        "A compacted topic whose queue has begun anew under another broker is mended at the start: what nobody could"
        " read is kept behind the rest, and the queue goes on there. Its offsets leap.",
        tests=("tests/broker/compaction/test_queue_offsets.py::test_a_deaf_queue_hears_again",),
    ),
    # --- light queues
    Difference(
        "With enableLmq and without lmqConsumerOffset.json, groups go on where consumerOffset.json says; the real"
        " broker does not look there, and every group begins anew.",
        tests=("tests/broker/groups/test_lmq_offsets.py::test_it_begins_with_what_there_was",),
    ),
    Difference(
        "The half message of a transaction is in no light queue, only the committed one is. The real broker enters"
        " both, so that consumers read what may be rolled back.",
        cases=("light: a half message",),
        tests=("tests/store/appending/test_lmq_queues.py::test_half_messages_are_not_shown",),
    ),
    Difference(
        "A message that names anything else beside light queues is in its own queue only. The real broker gives"
        " such a name an empty offset: if it comes first, its dispatching stops at that record for good.",
        cases=("light: a topic among the names",),
        tests=(
            "tests/store/appending/test_lmq_queues.py"
            "::test_a_message_that_names_something_else_is_in_no_light_queue",
        ),
    ),
    Difference(
        "A delayed message that is delivered into light queues has the properties of any other that was delayed; the"
        " real broker leaves DELAY away in that case, and says WAIT=false.",
        cases=("light: delayed",),
    ),
    Difference(
        "A light queue that a message names twice counts it once. The real broker counts it twice and enters it"
        " once, so offsets in later messages are ahead of their places in the queue.",
        cases=("light: named twice",),
        tests=("tests/store/appending/test_lmq_queues.py::test_a_queue_named_twice_has_one_entry",),
    ),
    Difference(
        "A light queue that was deleted begins again at 0 also when it is rebuilt from the log; the real broker brings"
        " its old entries back.",
        tests=(
            "tests/store/opening/test_light_recovery.py::test_a_queue_that_was_deleted_begins_again",
        ),
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
            "tests/broker/topics/test_mappings.py::test_a_mapping_of_another_broker_is_refused",
        ),
    ),
    Difference(
        "While a static topic's queue moves, its end is that of the old part; the real broker asks the old"
        " part for the new part's queue.",
        cases=("static parts: undecided",),
    ),
    # --- lite topics
    Difference(
        "An acknowledgement of a message of a lite topic of which no batch is known, as after a restart, moves the"
        " group's offset past the very next message only. The real broker moves it past any, and what lies between"
        " is lost to the group.",
        tests=(
            "tests/processors/lite/test_lite_pops.py"
            "::test_after_a_restart_an_acknowledgement_moves_past_the_next_message_only",
        ),
    ),
    Difference(
        "A note of news in a lite topic that comes while that topic is being popped is kept; the real broker can"
        " lose it until the next message (11191). What does not fit into a client's notes is looked at as soon as"
        " it has fetched them; there, ten seconds later at the earliest.",
        tests=(
            "tests/broker/lite/test_events.py::test_a_note_that_was_not_used_comes_again",
            "tests/broker/lite/test_events.py"
            "::test_what_does_not_fit_is_found_when_the_others_are_taken",
        ),
    ),
    Difference(
        "When an operator moves a group in a lite topic, its clients are told of it at once, also those that wait; the"
        " real broker's get messages from there with the next note only: a message, or TRIGGER_LITE_DISPATCH.",
        tests=(
            "tests/processors/lite/test_resets.py::test_a_reset_counts_though_messages_are_out",
        ),
    ),
    Difference(
        "A note of news in a lite topic never goes to a client of an exclusive group that has lost that lite topic to"
        " another one. The real broker may give it to either of them, and the one that lost it drops it.",
        tests=(
            "tests/processors/lite/test_exclusive_readers.py"
            "::test_no_news_are_lost_to_a_client_that_may_not_have_them",
        ),
    ),
    Difference(
        "What was taken from a client of an exclusive group is forgotten when the client has no subscription and has"
        " been silent for `liteSubscriptionCheckTimeoutMills`; the real broker remembers it for ever.",
        tests=(
            "tests/broker/lite/test_evictions.py"
            "::test_a_client_that_does_not_come_back_is_forgotten",
        ),
    ),
    Difference(
        "While a topic is being deleted, its lite topics first, messages for these are refused (17); the real broker"
        " stores them, and they go with the topic or are left behind.",
        tests=(
            "tests/processors/topics/test_deletions.py"
            "::test_what_is_being_deleted_gets_no_lite_message",
        ),
    ),
    Difference(
        "Deleting a topic that is being deleted already is the same deletion: what is made under its name when that"
        " has been answered stays.",
        tests=(
            "tests/processors/topics/test_deletions.py::test_it_goes_on_when_nobody_waits_any_more",
        ),
    ),
    Difference(
        "A lite topic lives for as many minutes as `lite.topic.expiration` says, also above 35,791; there the real"
        " broker's milliseconds leave 32 bits, and the lite topic may go when it has been idle for `minLiteTTl`.",
        tests=(
            "tests/processors/lite/test_lite_pops.py"
            "::test_a_lite_topic_may_live_for_more_than_24_days",
        ),
    ),
    # --- PEEK
    Difference(
        "PEEK answers with at most 32 messages in all, however many are asked for; the real broker with at most 32"
        " of each queue.",
        tests=("tests/processors/pop/test_peek.py::test_no_more_than_32_in_all",),
    ),
    # --- orderly POP
    Difference(
        "An acknowledgement of an orderly pop of which nothing is known any more, as after a kill, moves the group's"
        " offset only past the very next message; the real broker moves it past any, and the group never gets the"
        " messages between.",
        cases=("orderly: nothing known, further on",),
        tests=("tests/processors/pop/test_orderly.py::test_a_lost_block_loses_no_message",),
    ),
    Difference(
        "An orderly pop of the attempt that has messages of a queue does not move the offset past them when it wants"
        " none of them, and who waits for a blocked queue is woken when all of its messages are visible again; the"
        " real broker moves it, wakes when the first one is, and may leave the waiting pop asleep afterwards.",
        tests=(
            "tests/processors/pop/test_orderly.py::test_one_attempt_does_not_pass_over_what_is_out",
            "tests/processors/pop/test_orderly.py::test_who_waits_is_woken",
        ),
    ),
    Difference(
        "A queue that an orderly pop blocks opens after the message's invisible time, also when the clock was set back"
        " meanwhile; in the real broker it stays blocked until the clock has caught up. A pop, or a notification, waits"
        " no longer than it asked for, whatever the client's clock says.",
        tests=(
            "tests/trimq/clock/test_rules.py::test_blocks_of_ordered_pops",
            "tests/trimq/clock/test_rules.py::test_pops_and_notifications_that_wait",
        ),
    ),
    # --- operating
    Difference(
        "What peers can make a server keep is bounded: connections, topics, groups, queues of a topic, locks,"
        " subscriptions and more, by settings of TriMQ's own. docs/security.md has all of them; RocketMQ knows none.",
        tests=(
            "tests/hostile/test_bounded_tables.py::test_a_topic_of_two_billion_queues_is_refused",
            "tests/hostile/test_bounded_tables.py::test_locks_of_a_group_and_of_all_have_a_bound",
            "tests/trimq/settings/test_few_descriptors.py::test_one_address_shuts_nobody_out",
        ),
    ),
    Difference(
        "Counts of the configuration have upper bounds (reviveQueueNum, defaultTopicQueueNums, maxIndexNum and others,"
        " docs/settings.md), so that no value keeps a broker from its next start.",
        tests=(
            "tests/trimq/settings/test_extremes.py::test_a_server_starts_with_all_numbers_at_their_ends",
        ),
    ),
    Difference(
        "SIGTERM ends a process within ten seconds, whatever it is doing; what is not done by then is cut off as by a"
        " kill, which a store survives.",
        tests=("tests/trimq/process/test_stop_signals.py::test_one_that_cannot_end_is_cut_off",),
    ),
    Difference(
        "No request is answered that the broker is busy because it has waited long (`brokerFastFailureEnable` and the"
        " `waitTimeMillsIn...` settings have no effect): what is received is served, and a connection that sends more"
        " is not read.",
        tests=("tests/trimq/settings/test_rocketmq.py::test_three_kinds_of_remarks",),
    ),
    Difference(
        "A queue's lock that is not renewed is lost after 60 s; RocketMQ's system property"
        " `rocketmq.broker.rebalance.lockMaxLiveTime` has no counterpart.",
        tests=(
            "tests/broker/groups/test_queue_locks.py::test_a_lock_not_renewed_for_60_seconds_is_taken_over",
        ),
    ),
    Difference(
        "Clients, queue locks, lite subscriptions and a NameServer's brokers expire when so much time has passed, and a"
        " clock that is set changes nothing about it; the real servers lose all of them when it is set ahead, and keep"
        " what is gone for as long as it was set back.",
        tests=(
            "tests/trimq/clock/test_rules.py::test_consumers",
            "tests/trimq/clock/test_rules.py::test_producers",
            "tests/trimq/clock/test_rules.py::test_queue_locks",
            "tests/trimq/clock/test_rules.py::test_lite_clients",
            "tests/trimq/clock/test_rules.py::test_brokers_of_a_name_server",
        ),
    ),
    Difference(
        "UPDATE_BROKER_CONFIG and UPDATE_NAMESRV_CONFIG refuse what cannot be read or lies outside "
        "the setting's limits; the real servers accept any number that Java can read, and answer "
        "the rest with success.",
        cases=(
            "settings: no number",
            "settings: a number of 33 bits",
            "settings: neither true nor false",
        ),
        tests=(
            "tests/trimq/settings/test_running.py::test_what_is_not_allowed_changes_nothing",
            "tests/trimq/settings/test_running.py::test_no_interval_ends_the_name_server",
        ),
    ),
    Difference(
        "Files, addresses, `tls.*` and secrets cannot be changed over the network (NO_PERMISSION).",
        tests=(
            "tests/trimq/settings/test_running.py"
            "::test_files_addresses_and_protection_are_not_set_over_the_network",
        ),
    ),
    Difference(
        "`brokerIP1`, `listenPort` and `brokerName` are announced for a peer on the same host: the answer comes when"
        " the NameServers have the new ones, and no longer the former ones. From elsewhere the first two are refused,"
        " and a name counts from the next start on. The real broker takes any value of them from anybody, tells it with"
        " its next registration (at once if `brokerPermission` is given), and takes back nothing.",
        tests=(
            "tests/trimq/serving/test_announced.py::test_the_commands_of_a_container_class",
            "tests/trimq/serving/test_announced.py::test_from_elsewhere_it_is_refused",
            "tests/trimq/serving/test_announced.py::test_what_cannot_be_announced_changes_nothing",
            "tests/broker/cluster/test_announced_anew.py"
            "::test_the_former_one_leaves_before_the_new_one_comes",
        ),
    ),
    Difference(
        "A change of a setting that does not take effect at once, or of a key that does not exist, "
        "is a success whose remark says so; the real servers say nothing.",
        cases=("settings: one of several unknown", "settings: update of an unknown key"),
        tests=(
            "tests/trimq/settings/test_running.py"
            "::test_what_needs_a_new_start_says_so_and_what_holds_is_shown",
        ),
    ),
    Difference(
        "A setting that promises what TriMQ does not do yet, or a number or boolean of a config file that cannot be"
        " read, refuses the start; the real servers use their default for what they cannot read.",
        tests=(
            "tests/trimq/settings/test_rocketmq.py::test_what_promises_too_much_is_refused",
            "tests/trimq/settings/test_parsing.py::test_a_bad_value_names_key_value_and_what_is_allowed",
        ),
    ),
    Difference(
        "Changed settings are written into their lines of the config file, or, where none is named, into a file that"
        " the next start reads; the real servers write every setting, and read it with `-c` only.",
        tests=("tests/trimq/settings/test_running.py::test_without_a_config_file_success_lasts",),
    ),
    Difference(
        "SET_COMMITLOG_READ_MODE has no effect: the log is read ahead of each reader, not by mappings.",
        tests=("tests/processors/settings/test_settings_requests.py::test_read_ahead_is_as_it_is",),
    ),
    Difference(
        "GET_BROKER_CONFIG has the settings that TriMQ knows, and whatever else is in the config file, with the"
        " values that are in force; secrets are masked.",
        tests=(
            "tests/trimq/settings/test_running.py::test_every_setting_is_shown",
            "tests/trimq/settings/test_running.py::test_secrets_are_written_but_not_shown",
        ),
    ),
    Difference(
        "Runtime info: thread pool queues are always empty; a put takes as long as the write that it shares with"
        " others; how long reading takes is not measured.",
        tests=("tests/processors/stats/test_broker_figures.py::test_an_idle_broker",),
    ),
    Difference(
        "VIEW_BROKER_STATS_DATA counts messages, bytes and what was sent back per topic, group and"
        " broker; TOPIC_PUT_LATENCY, GROUP_GET_LATENCY, CONSUMER_REGISTER_TIME and CHANNEL_ACTIVITY are not. A batch"
        " counts as one go per message.",
        cases=("counters: which names exist",),
        tests=("tests/broker/stats/test_broker_stats.py::test_a_record_may_hold_several_messages",),
    ),
    Difference(
        "BROKER_PUT_NUMS leaves out POP's checkpoints also when the timer wheel hands them on, which RocketMQ counts;"
        " a dead letter counts for nobody, whoever sends it.",
        tests=(
            "tests/broker/stats/test_broker_stats.py::test_what_the_broker_writes_for_itself_is_put_by_nobody",
        ),
    ),
    Difference(
        "The offsets of broadcasting groups are committed for GROUP@broadcast, but a pull's requestSource and"
        " proxyFrowardClientId have no effect: no client and no proxy of 5.5.0 sends them.",
        tests=(
            "tests/processors/consume/test_broadcast_offsets.py::test_the_least_of_all_members_is_committed",
        ),
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
    """Wire case -> why TriMQ answers it differently."""
    return {case: one.text for one in DIFFERENCES for case in one.cases}


def deliberate_calls() -> dict[str, str]:
    """gRPC call -> why TriMQ's proxy answers it, or asks, differently."""
    return {call: one.text for one in DIFFERENCES for call in one.calls}
