"""Run by the Python of an environment that TriMQ was installed into: one message there and back."""

import json
import sys

import trimq
from trimq import compiled
from trimq.admin import BlockingAdminClient, NewMessage
from trimq.testing import running_server

if __name__ == "__main__":
    with running_server() as server, BlockingAdminClient(server.namesrv_addr) as admin:
        sent = admin.send(NewMessage(topic="Installed", body=b"there and back"))
        queue = sent.queue
        place = admin.place_of(queue.topic, queue.broker_name, queue.queue_id)
        pulled = admin.pull(place, sent.queue_offset)
    loaded = {name: __import__(name) is not None for name in sys.argv[1:]}
    print(
        json.dumps(
            {
                "bodies": [message.body.decode() for message in pulled.messages],
                "build": compiled.description(),
                "file": trimq.__file__,
                "loaded": loaded,
            }
        )
    )
