"""One receive: what is answered, in which order, with which code; no socket, no event loop."""

import logging
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import (
    JSON,
    ONEWAY_BIT,
    ROCKETMQ,
    RemotingCommand,
    decode_command,
    encode_command,
)
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import Header, Integer
from trimq.remoting.contract import (
    FeatureMissing,
    Later,
    Processor,
    RemotingError,
    Request,
    Response,
)
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_frames import Turn, encode_replies, take_turn
from trimq.remoting.testing import RecordingPeer

ROOM = 1 << 20


class NameHeader(Header):
    """One field is enough here."""

    consumer_group: str
    queue_id: Integer | None = None


class Plain(Processor[NameHeader]):
    """Answers with the body it got, or as `behaviour` says."""

    codes = (10,)
    header = NameHeader

    def __init__(self, behaviour=None):
        self.behaviour = behaviour
        self.seen = []

    def handle(self, request: Request[NameHeader]) -> Response:
        self.seen.append(request)
        if self.behaviour is not None:
            return self.behaviour(request)
        return Response(header=request.header, body=request.body)


class Waiting(Processor[None]):
    codes = (11,)

    def handle(self, request):
        if request.body == b"ready":
            return Response(body=b"ready")
        return Later(request, self._answer)

    async def _answer(self, request):
        return Response(body=b"late")


def frame(opaque=1, code=10, flag=0, fields=None, body=b"", coding=JSON):
    fields = {"consumerGroup": "G"} if fields is None else fields
    return encode_command(RemotingCommand(code, opaque, flag, None, fields, body, coding))


def turn_of(data: bytes, *processors, end=lambda: None, room=ROOM) -> Turn:
    frames = FrameBuffer()
    frames.feed(data)
    return take_turn(frames, Dispatcher(processors, end), RecordingPeer(), room)


def commands(turn: Turn) -> list[RemotingCommand]:
    out = encode_replies(turn.replies, Dispatcher([]))
    data = b"".join(out.buffers)
    assert len(data) == out.size
    frames = FrameBuffer()
    frames.feed(data)
    return [decode_command(each) for each in iter(frames.next_frame, None)]


def only(turn: Turn) -> RemotingCommand:
    (command,) = commands(turn)
    return command


def fail(error: Exception):
    def behaviour(_request):
        raise error

    return behaviour


def test_requests_of_one_receive_are_answered_in_order_after_one_hook_call():
    calls = []
    plain = Plain()
    turn = turn_of(
        b"".join(frame(n, body=b"%d" % n) for n in range(5)),
        plain,
        end=lambda: calls.append(len(plain.seen)),
    )
    assert [(c.opaque, c.body) for c in commands(turn)] == [(n, b"%d" % n) for n in range(5)]
    assert calls == [5]
    assert all(c.is_response for c in commands(turn))


def test_a_processor_sees_header_body_peer_and_caller():
    plain = Plain()
    turn_of(frame(7, fields={"consumerGroup": "G", "queueId": "3"}, body=b"B"), plain)
    (request,) = plain.seen
    assert (request.header.consumer_group, request.header.queue_id) == ("G", 3)
    assert (request.code, request.opaque, request.body, request.oneway) == (10, 7, b"B", False)
    assert (request.version, request.language) == (515, 0)
    assert request.ext_fields == {"consumerGroup": "G", "queueId": "3"}
    assert request.peer.remote_addr == "127.0.0.1:40000"


def test_an_unknown_code_is_answered_as_the_real_server_does(caplog):
    turn = turn_of(frame(1, code=12345) + frame(2, code=12345), Plain())
    first, second = commands(turn)
    assert first.code == second.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED == 3
    assert first.remark == " request type 12345 not supported"
    # Once: nobody may fill the log with codes.
    assert len([r for r in caplog.records if "12345" in r.getMessage()]) == 1


def test_an_expected_failure_has_its_code_and_remark():
    turn = turn_of(frame(), Plain(fail(RemotingError(ResponseCode.NO_PERMISSION, "no way"))))
    assert (only(turn).code, only(turn).remark) == (16, "no way")


def test_a_missing_feature_is_named_in_the_log(caplog):
    error = FeatureMissing(ResponseCode.SYSTEM_ERROR, "no", "SQL92 is not supported yet")
    turn = turn_of(frame(1) + frame(2), Plain(fail(error)))
    assert [one.remark for one in commands(turn)] == ["no", "no"]
    (line,) = [one.getMessage() for one in caplog.records]
    assert "request refused: reason=SQL92 is not supported yet" in line


def test_a_bug_is_logged_with_code_and_peer_and_answered(caplog):
    turn = turn_of(frame() + frame(2), Plain(fail(ZeroDivisionError("oh"))))
    assert [c.code for c in commands(turn)] == [1, 1]
    assert only(turn_of(frame(), Plain(fail(KeyError("k"))))).remark == "KeyError: 'k'"
    record = caplog.records[0]
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert "code=10 peer=127.0.0.1:40000" in record.getMessage()


def test_a_missing_header_field_is_a_system_error_without_a_traceback(caplog):
    answer = only(turn_of(frame(fields={"x": "y"}), Plain()))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "consumerGroup" in answer.remark
    assert [record.exc_info for record in caplog.records] == [None]


@pytest.mark.parametrize(
    "behaviour", [None, fail(RemotingError(2, "busy")), fail(ValueError("bug"))]
)
def test_a_oneway_request_is_never_answered(behaviour):
    plain = Plain(behaviour)
    assert turn_of(frame(flag=ONEWAY_BIT), plain).replies == []
    assert len(plain.seen) == 1
    assert turn_of(frame(code=999, flag=ONEWAY_BIT), plain).replies == []


def test_a_response_that_says_so_is_not_sent():
    assert turn_of(frame(), Plain(lambda _: Response(no_reply=True))).replies == []


def test_the_hook_runs_for_oneway_requests_too_but_not_for_nothing():
    calls = []
    turn_of(frame(flag=ONEWAY_BIT), Plain(), end=lambda: calls.append(1))
    turn_of(frame()[:10], Plain(), end=lambda: calls.append(2))
    assert calls == [1]


def test_staged_replies_become_the_error_of_the_hook():
    def behaviour(request):
        return Response(staged=request.body == b"staged", body=b"fine")

    def end():
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "disk full")

    data = frame(1, body=b"staged") + frame(2) + frame(3, body=b"staged")
    answers = commands(turn_of(data, Plain(behaviour), end=end))
    assert [(c.opaque, c.code, c.body) for c in answers] == [
        (1, 1, b""),
        (2, 0, b"fine"),
        (3, 1, b""),
    ]
    assert answers[0].remark == "disk full"


def test_a_hook_that_breaks_is_logged_and_answered(caplog):
    def end():
        raise OSError("input/output error")

    answer = only(turn_of(frame(), Plain(lambda _: Response(staged=True)), end=end))
    assert (answer.code, answer.remark) == (1, "OSError: input/output error")
    assert caplog.records[0].exc_info is not None


def test_a_waiting_processor_may_answer_at_once_or_is_held():
    turn = turn_of(frame(1, code=11, body=b"ready") + frame(2, code=11), Waiting())
    assert only(turn).body == b"ready"
    assert [waiting.later.request.opaque for waiting in turn.waiting] == [2]


@pytest.mark.parametrize("coding", [JSON, ROCKETMQ])
def test_the_reply_has_the_coding_of_its_request(coding):
    answer = only(turn_of(frame(coding=coding, body=b"x"), Plain()))
    assert answer.coding == coding
    assert answer.ext_fields == {"consumerGroup": "G"}


def test_a_code_above_16_bits_is_answered_in_json():
    answer = only(turn_of(frame(coding=ROCKETMQ), Plain(lambda _: Response(200050))))
    assert (answer.coding, answer.code) == (JSON, 200050)


def test_ext_fields_of_the_response_win_over_its_header():
    def behaviour(request):
        return Response(header=request.header, ext_fields={"queueId": "9", "more": "1"})

    answer = only(turn_of(frame(), Plain(behaviour)))
    assert answer.ext_fields == {"consumerGroup": "G", "queueId": "9", "more": "1"}


def test_a_body_in_pieces_leaves_uncopied():
    body = [b"ab", memoryview(b"cdef")[1:3], bytearray(b"g")]
    turn = turn_of(frame(), Plain(lambda _: Response(body=body)))
    out = encode_replies(turn.replies, Dispatcher([])).buffers
    assert out[1:] == body
    assert out[2] is body[1]
    assert only(turn).body == b"abdeg"


def test_a_response_that_fits_no_frame_costs_only_itself(caplog):
    def behaviour(request):
        return Response(remark=42 if request.opaque == 1 else None, ext_fields={"k": "v"})

    turn = turn_of(frame(1, coding=ROCKETMQ) + frame(2), Plain(behaviour))
    assert [(c.opaque, c.code) for c in commands(turn)] == [(1, 1), (2, 0)]
    assert caplog.records[0].exc_info is not None


def test_a_broken_frame_ends_the_turn_after_the_good_ones():
    turn = turn_of(frame(1) + b"\x7f\xff\xff\xff" + frame(2), Plain())
    assert [c.opaque for c in commands(turn)] == [1]
    assert "length" in turn.broken


def test_a_turn_ends_when_its_replies_fill_the_room():
    turn = turn_of(
        b"".join(map(frame, range(5))), Plain(lambda _: Response(body=b"x" * 600)), room=1000
    )
    assert [c.opaque for c in commands(turn)] == [0, 1]
    assert turn.more


def test_a_turn_handles_a_bounded_number_of_frames():
    turn = turn_of(b"".join(map(frame, range(1000))), Plain())
    assert turn.more
    assert len(turn.replies) < 1000


def test_two_processors_for_one_code_are_refused():
    with pytest.raises(ValueError, match="two processors for request code 10"):
        Dispatcher([Plain(), Plain()])


def test_the_metrics_hook_learns_both_codes():
    told = []
    dispatcher = Dispatcher([Plain()], on_request=lambda *codes: told.append(codes))
    frames = FrameBuffer()
    frames.feed(frame() + frame(fields={}))
    take_turn(frames, dispatcher, RecordingPeer(), ROOM)
    assert told == [(10, 0), (10, 1)]
    assert dispatcher.codes == {10}


def test_answers_to_our_own_requests_are_kept_apart():
    turn = turn_of(frame(9, flag=1) + frame(1), Plain())
    assert [c.opaque for c in turn.answers] == [9]
    assert [c.opaque for c in commands(turn)] == [1]


@given(
    cuts=st.lists(st.integers(0, 1200)),
    codes=st.lists(st.sampled_from([10, 11, 10, 77]), min_size=1, max_size=8),
    coding=st.sampled_from([JSON, ROCKETMQ]),
)
def test_frames_cut_anywhere_give_the_same_replies(cuts, codes, coding):
    data = b"".join(
        frame(n, code, body=b"ready" * (n % 2), coding=coding) for n, code in enumerate(codes)
    )
    frames = FrameBuffer()
    dispatcher = Dispatcher([Plain(), Waiting()])
    replies, held = [], []
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    for begin, end in pairwise(edges):
        frames.feed(data[begin:end])
        turn = take_turn(frames, dispatcher, RecordingPeer(), ROOM)
        replies += [(c.opaque, c.code, c.body, c.coding) for c in commands(turn)]
        held += [each.later.request.opaque for each in turn.waiting]
    whole = turn_of(data, Plain(), Waiting())
    assert replies == [(c.opaque, c.code, c.body, c.coding) for c in commands(whole)]
    assert held == [each.later.request.opaque for each in whole.waiting]


@given(data=st.binary(max_size=300), at=st.integers(0, 400))
def test_garbage_breaks_nothing_but_its_own_connection(data, at):
    good = frame(5, body=b"y" * 50)
    turn = turn_of(good[:at] + data + good[at:], Plain())
    assert turn.broken is None or isinstance(turn.broken, str)
    commands(turn)


@pytest.mark.parametrize("coding", [JSON, ROCKETMQ])
def test_a_header_beyond_its_limits_costs_its_request_only(coding):
    large = {f"k{number}": "v" for number in range(600)}
    turn = turn_of(
        frame(opaque=1, fields=large, coding=coding)
        + frame(opaque=2, fields=large, flag=ONEWAY_BIT, coding=coding)
        + frame(opaque=3, body=b"served", coding=coding),
        Plain(),
    )
    assert turn.broken is None
    refused, served = turn.replies
    assert (refused.opaque, refused.response.code) == (1, ResponseCode.SYSTEM_ERROR)
    assert "512 fields" in (refused.response.remark or "")
    assert (served.opaque, served.response.body) == (3, b"served")


@pytest.mark.parametrize(
    ("header", "answered"),
    [
        (b'{"code":10,"opaque":7,"extFields":{"k":"\xb6\xa9"}}', 7),
        (b"{'code':10,'opaque':+7,'x':NaN}", 7),
        (b'{"code":10,"flag":2,"opaque":7,"x":NaN}', None),
        (b"nonsense", None),
        (b"", None),
    ],
)
def test_a_header_that_cannot_be_read_costs_its_request_only(header, answered):
    bad = (4 + len(header)).to_bytes(4) + len(header).to_bytes(4) + header
    turn = turn_of(frame(1) + bad + frame(3), Plain())
    assert turn.broken is None
    codes = [(reply.opaque, reply.response.code) for reply in turn.replies]
    refused = [] if answered is None else [(answered, ResponseCode.SYSTEM_ERROR)]
    assert codes == [(1, 0), *refused, (3, 0)]


def test_who_waits_for_an_answer_that_cannot_be_read_gets_an_error():
    header = b'{"code":0,"flag":1,"opaque":7,"remark":NaN}'
    bad = (4 + len(header)).to_bytes(4) + len(header).to_bytes(4) + header
    turn = turn_of(bad + frame(3), Plain())
    (answer,) = turn.answers
    assert (answer.opaque, answer.code) == (7, ResponseCode.SYSTEM_ERROR)
    assert "no value" in (answer.remark or "")
    assert [reply.opaque for reply in turn.replies] == [3]


@pytest.mark.parametrize("shows", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_an_answer_without_fields_may_say_so(shows, fails):
    def behaviour(_):
        if fails:
            raise RemotingError(22, "nothing there")
        return Response()

    processor = Plain(behaviour)
    processor.shows_no_fields = shows
    turn = turn_of(frame(1), processor)
    (head,) = encode_replies(turn.replies, Dispatcher([processor])).buffers
    assert (b'"extFields":{},' in head) is shows
    (command,) = commands(turn_of(frame(1), processor))
    assert (command.code, command.ext_fields) == (22 if fails else 0, {})
