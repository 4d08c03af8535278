"""allocateMQ: how a topic's queues would be shared among clients. Java: AllocateMQSubCommand.

Each client gets the same number, the first ones one more if they do not divide evenly
(AllocateMessageQueueAveragely); the queues are in the order of Java's set of them.
"""

import click

from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.java import fastjson
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.java import hash_order, queue_hash, string_map


@admin_command("allocateMQ")
@topic_option
@click.option("-i", "--ipList", "clients", required=True, help="Clients, separated by commas.")
def command(run: Run, topic: str, clients: str) -> None:
    names = clients.split(",")
    queues = hash_order((place.queue for place in run.admin.read_queues(topic)), queue_hash)
    shares = string_map({name: _share(queues, names, names.index(name)) for name in names})
    run.out.line(fastjson.dumps({"result": shares}).decode())
    run.out.value({"result": shares})


def _share(queues: list[MessageQueue], clients: list[str], index: int) -> list[MessageQueue]:
    size, more = divmod(len(queues), len(clients))
    if not size:
        return queues[index : index + 1]
    start = index * size + min(index, more)
    return queues[start : start + size + (index < more)]
