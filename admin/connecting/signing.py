"""Access keys: the two ext fields that a server with access control asks for.

Java: AclClientRPCHook, AclUtils.combineRequestContent, AclSigner (HmacSHA1, base64).
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from trimq.codec.headers.base import Header, encode_header

ACCESS_KEY: Final = "AccessKey"
SIGNATURE: Final = "Signature"
_KEY_ATTRIBUTE: Final = "signed_access_key"
_SIGNATURE_ATTRIBUTE: Final = "signed_signature"


@dataclass(frozen=True, slots=True)
class AccessKeys:
    """Who asks, and the secret that proves it."""

    access_key: str
    secret_key: str

    def signed(self, header: Header | None, body: bytes) -> Header:
        """The header with access key and signature.

        Signed are the values of all fields in the order of their names, then the body.
        """
        plain = header or Header()
        fields = {**encode_header(plain), ACCESS_KEY: self.access_key}
        content = "".join(fields[name] for name in sorted(fields)).encode() + body
        digest = hmac.new(self.secret_key.encode(), content, hashlib.sha1).digest()
        values = {name: getattr(plain, name) for name in plain.__struct_fields__}
        values[_KEY_ATTRIBUTE] = self.access_key
        values[_SIGNATURE_ATTRIBUTE] = base64.b64encode(digest).decode()
        return _with_keys(type(plain))(**values)


@cache
def _with_keys(kind: type[Header]) -> type[Header]:
    """The same header with two more fields."""
    made: Any = msgspec.defstruct(
        kind.__name__,
        [
            (_KEY_ATTRIBUTE, str, msgspec.field(name=ACCESS_KEY)),
            (_SIGNATURE_ATTRIBUTE, str, msgspec.field(name=SIGNATURE)),
        ],
        bases=(kind,),
        kw_only=True,
    )
    extended: type[Header] = made
    return extended
