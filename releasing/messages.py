"""Run by the Python of an environment that TriMQ was installed into: sends messages, or reads all there are.

    python -P messages.py NAMESRV send FROM COUNT
    python -P messages.py NAMESRV read

It prints their bodies, a line each, in the order of their numbers.
"""

import sys

from trimq.admin import BlockingAdminClient, NewMessage

TOPIC = "Release"


def main(namesrv: str, what: str, *numbers: str) -> None:
    with BlockingAdminClient(namesrv) as admin:
        if what == "send":
            first, count = map(int, numbers)
            bodies = [b"message %06d" % number for number in range(first, first + count)]
            for body in bodies:
                admin.send(NewMessage(topic=TOPIC, body=body))
        else:
            bodies = []
            for place in admin.read_queues(TOPIC):
                pulled = admin.pull(place, 0)
                while pulled.messages:
                    bodies += [message.body for message in pulled.messages]
                    pulled = admin.pull(place, pulled.next_offset)
    for body in sorted(bodies):
        print(body.decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
