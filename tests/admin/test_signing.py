"""Access keys: what is signed, and where it goes."""

import base64
import hashlib
import hmac

from trimq.admin.connecting.signing import AccessKeys
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.topics import DeleteTopicRequestHeader

KEYS = AccessKeys("me", "secret")


def signature(content: bytes) -> str:
    return base64.b64encode(hmac.new(b"secret", content, hashlib.sha1).digest()).decode()


def test_values_are_signed_in_the_order_of_their_names() -> None:
    header = DeleteTopicRequestHeader(topic="T", bname="b")
    fields = encode_header(KEYS.signed(header, b"body"))
    # AccessKey, bname, topic.
    assert fields == {
        "AccessKey": "me",
        "Signature": signature(b"meb" + b"T" + b"body"),
        "bname": "b",
        "topic": "T",
    }


def test_a_request_without_header_is_signed_too() -> None:
    fields = encode_header(KEYS.signed(None, b""))
    assert fields == {"AccessKey": "me", "Signature": signature(b"me")}
