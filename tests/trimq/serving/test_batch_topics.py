"""A topic with queue.type=BatchCQ, from its creation by a request to its queues after a restart."""

import shutil
from pathlib import Path

import trimq
from tests.requests import pull_header, send_header_v2, topic_header
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.records.batch import BatchItem, join_batch, split_batch
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.client import Client

THREE = [BatchItem(0, b"%d" % number, b"") for number in range(3)]


async def create(client: Client) -> None:
    header = topic_header("Batches", 1, attributes="+queue.type=BatchCQ")
    created = await client.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
    assert created.code == ResponseCode.SUCCESS


async def send(client: Client) -> str:
    header = send_header_v2("Batches", properties="UNIQ_KEY\x01whole\x02", batch=True)
    sent = await client.request(RequestCode.SEND_BATCH_MESSAGE, header, join_batch(THREE))
    assert sent.code == ResponseCode.SUCCESS, sent.remark
    assert sent.ext_fields["batchUniqId"] == "whole"
    return sent.ext_fields["queueOffset"]


async def pull(client: Client, offset: int) -> tuple[str, list[int]]:
    header = pull_header("C", "Batches", offset)
    pulled = await client.request(RequestCode.PULL_MESSAGE, header)
    assert pulled.code == ResponseCode.SUCCESS
    data, at, found = bytes(pulled.body), 0, []
    while at < len(data):
        record = parse_record(data, at)
        assert [item.body for item in split_batch(record.body)] == [b"0", b"1", b"2"]
        found.append(record.queue_offset)
        at += record.total_size
    return pulled.ext_fields["nextBeginOffset"], found


async def test_batches_stay_whole_and_their_queues_are_found_again(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        await create(client)
        assert [await send(client) for _ in range(2)] == ["0", "3"]
        assert await pull(client, 4) == ("6", [3])
    assert (tmp_path / "batchconsumequeue" / "Batches" / "0").is_dir()
    assert not (tmp_path / "consumequeue" / "Batches").exists()
    # Without the folder only the topic table knows the type.
    shutil.rmtree(tmp_path / "batchconsumequeue")
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        assert await pull(client, 0) == ("6", [0, 3])
        assert await send(client) == "6"
