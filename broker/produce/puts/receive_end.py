"""The write at the end of a receive: what its requests staged reaches the commit log in one go.

A record that has to be staged last, one that stands for all that the receive did, is staged by the
store's last stagers within the write, whoever asks for it. What depends on a record being stored is its
topic's effect (`store/messages/effects.py`) or a listener of the store: both come before the replies
are sent, and never for records that are taken back.

Hot: compiled by mypyc when a compiler is there.
"""

import logging

from trimq.broker.produce.puts.rules import put_answer
from trimq.remoting.contract import RemotingError
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.server")


def write_receive(store: MessageStore, config: StoreConfig) -> None:
    """Writes all that is staged or, with RemotingError, nothing: that is the answer to each of those sends."""
    try:
        store.write_staged()
    except StoreError as error:
        log.error("messages not stored: reason=%s", error)
        code, remark = put_answer(error, config, store.disk_use)
        raise RemotingError(code, remark) from error
