"""A group that may not read a topic."""

import json
from typing import Any

from trimq.codec.headers.groups import (
    UpdateGroupForbiddenRequestHeader,
)
from trimq.processors.groups.update_and_get_group_forbidden import UpdateAndGetGroupForbidden


def test_banning_a_group_from_a_topic(broker: Any) -> None:
    processor = broker.processor(UpdateAndGetGroupForbidden)

    def ask(readable: bool | None) -> Any:
        header = UpdateGroupForbiddenRequestHeader(group="g", topic="T", readable=readable)
        answer = processor.handle(broker.request(353, header))
        assert answer.remark == ""
        return json.loads(answer.body)

    assert ask(None) == {"group": "g", "readable": True, "topic": "T"}
    assert ask(False)["readable"] is False
    assert broker.groups.is_forbidden("g", "T", 2)
    assert ask(None)["readable"] is False
    assert ask(True)["readable"] is True
