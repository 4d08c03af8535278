"""The command as a shell runs it: what it prints, its exit codes, what it loads."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.run.mqadmin import run_mqadmin
from trimq.mqadmin.names import COMMANDS, LEFT_OUT, OWN, find, module_of
from trimq.testing import TestServer

HOME = Path(__file__).parent.parent.parent


def run(server: TestServer, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_mqadmin(*words, **{"NAMESRV_ADDR": server.namesrv_addr, **environment})


def test_the_environment_names_the_name_server(server: TestServer) -> None:
    done = run(server, "topicList")
    assert (done.returncode, done.stderr) == (0, "")
    assert "TBW102" in done.stdout.splitlines()


def test_names_are_found_in_any_case(server: TestServer) -> None:
    assert run(server, "TOPICLIST").stdout == run(server, "topicList").stdout


def test_json_is_a_value_per_line(server: TestServer) -> None:
    done = run(server, "topicStatus", "-t", "TBW102", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 8
    assert lines[0] == {
        "brokerName": "broker-a",
        "queueId": 0,
        "minOffset": 0,
        "maxOffset": 0,
        "lastUpdateTimestamp": 0,
    }


def test_every_command_has_json_or_a_sentence(server: TestServer) -> None:
    done = run(server, "topicRoute", "-t", "TBW102", "--json")
    route = json.loads(done.stdout)
    assert route["queueDatas"][0]["brokerName"] == "broker-a"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["topicRoute", "-t", "NoSuchTopic"], 1, "has no route for topic 'NoSuchTopic'"),
        (["topicRoute", "-t", "NoSuchTopic"], 1, "; mqadmin topicList shows the topics there are"),
        (["topicRoute"], 2, "Missing option '-t'"),
        (["topicRout"], 2, "Did you mean topicRoute?"),
        (
            ["resetOffset", "-g", "G", "-t", "T", "--to", "soon"],
            2,
            "not one of earliest|latest|OFFSET|TIME",
        ),
        (["subscriptionCheck", "-g", "G"], 1, "no consumer of group 'G' has been online yet"),
        (["consumerProgress", "-g", "G"], 1, "no consumer of the group has been online yet"),
        (["topicList", "--timeout", "0"], 2, "'--timeout'"),
        (["topicList", "--timeout", "inf"], 2, "'--timeout'"),
        (["topicList", "--timeout", "nan"], 2, "'--timeout'"),
        (["resetOffsetByTime", "-g", "G", "-t", "T"], 2, "Missing option '-s'"),
        (
            ["resetOffsetByTime", "-g", "G", "-t", "T", "-s", "soon"],
            2,
            "for -s: 'soon' is not a time: now, -1h",
        ),
        (["resetOffsetByTime", "-g", "G", "-t", "T", "-s", "--5"], 2, "is not a time: now"),
        (["resetOffsetByTime", "-g", "G", "-t", "T", "-s", "9" * 20], 2, "is not a time"),
        (["resetOffsetByTime", "-g", "G", "-t", "T", "-s", "0", "-q", "1"], 2, "belong together"),
        (["resetOffsetByTime", "-g", "G", "-t", "T", "-s", "0", "-o", "1"], 2, "-o needs -b"),
        (["resetOffsetByTime", "-g", "G", "-t", "T", "-s", "0"], 1, "has no route for topic 'T'"),
        (["resetOffset", "-g", "G", "--to", "0"], 2, "either -t or --all-topics"),
        (["resetOffset", "-g", "G", "-t", "T", "--to", "-1"], 2, "offsets start at 0"),
        (["resetOffset", "-g", "G", "--all-topics", "--to", "0"], 1, "no broker has offsets"),
        (["offsets", "-g", "G"], 1, "no broker has offsets of group 'G'"),
        (
            ["consumerStatus", "-g", "G"],
            1,
            "has no route for topic '%RETRY%G': no consumer of group 'G' has been online yet\n",
        ),
        (["cloneGroupOffset", "-s", "G", "-d", "H", "-t", "T"], 1, "no broker knows group 'G'"),
        (["brokerConsumeStats", "-b", "here"], 2, "'here' is not HOST:PORT"),
        (["haStatus"], 2, "give either -b or -c"),
        (["haStatus", "-c", "C", "-i", "0"], 2, "'-i'"),
        (["setConsumeMode", "-b", "127.0.0.1:1", "-t", "T", "-g", "G", "-m", "X"], 2, "'X' is not"),
        (["startMonitoring", "--rounds", "0"], 2, "'--rounds'"),
        (["createuser", "-u", "x"], 2, "createUser is not supported: it is about access control"),
        (["help", "electMaster"], 2, "electMaster is not supported: it is about Controllers"),
        (["dumpCompactionLog", "-f", "/no/such/file"], 1, "cannot read /no/such/file"),
        (["dumpCompactionLog", "-f", "/dev/null"], 1, "/dev/null: "),
        (["updateTopic", "-b", "127.0.0.1:1", "-t", "T", "--drain"], 2, "--drain needs the number"),
        (["updateStaticTopic", "-b", "a", "-t", "T", "-qn", "1", "-fr", "true"], 2, "-mf and -fr"),
        (["topicList", "-n", "nowhere"], 2, "'nowhere' is not HOST:PORT"),
        (["topicList", "--access-key", "a"], 2, "belong together"),
        (["updateTopic", "-b", "127.0.0.1:1", "-t", "T", "-a", "x=1"], 2, "is set with +key=value"),
        (["printMsg", "-t", "T", "-b", "yesterday"], 2, "is not a time: now"),
        (["printMsg", "-t", "T", "-c", "UTF-99"], 2, "no character set"),
        (["updateSubGroup", "-b", "127.0.0.1:1", "-g", "G", "-p", "{"], 2, "this is not JSON"),
        (["updateOrderConf", "-t", "T", "-m", "put"], 2, "put needs -v"),
        (["sendMessage", "-t", "T", "-p", "x", "-i", "1"], 2, "-i needs -b"),
    ],
)
def test_exit_codes(server: TestServer, words: list[str], code: int, sentence: str) -> None:
    done = run(server, *words)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_part_that_fails_is_reported_and_counts(server: TestServer) -> None:
    done = run(server, "updateTopic", "-c", "DefaultCluster", "-t", "bad*name")
    # Not the configuration either: no broker has it.
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused UPDATE_AND_CREATE_TOPIC" in done.stderr


@pytest.mark.parametrize(
    ("key", "value", "sentence", "code"),
    [
        ("fileReservedTime", "071", None, 0),
        ("traceOn", "TRUE", None, 0),
        ("flushDiskType", "SYNC_FLUSH", "flushDiskType: in force from the next start on", 0),
        ("fileReservdTime", "71", "did you mean 'fileReservedTime'?", 1),
    ],
)
def test_a_success_that_changes_nothing_yet_is_reported(
    server: TestServer, key: str, value: str, sentence: str | None, code: int
) -> None:
    words = ["updateBrokerConfig", "-b", server.broker_addr, "-k", key, "-v", value]
    done = run(server, *words)
    assert done.stdout == f"update broker config success, {server.broker_addr}\n"
    assert done.returncode == code
    assert done.stderr == "" if sentence is None else sentence in done.stderr


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("fileReservedTime", "x", "fileReservedTime=x: must be a whole number from 0"),
        ("storePathRootDir", "/", "storePathRootDir: set where the server is started"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    server: TestServer, key: str, value: str, sentence: str
) -> None:
    done = run(server, "updateBrokerConfig", "-b", server.broker_addr, "-k", key, "-v", value)
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr


def test_a_name_server_tells_what_it_does_not_know(server: TestServer) -> None:
    words = ["updateNamesrvConfig", "-k", "suportActingMaster", "-v", "true"]
    done = run(server, *words)
    assert done.returncode == 1
    assert "did you mean 'supportActingMaster'?" in done.stderr
    assert run(server, "updateNamesrvConfig", "-k", "enableTopicList", "-v", "true").stderr == ""


def test_completion_lists_commands(server: TestServer) -> None:
    words = {"COMP_WORDS": "mqadmin topicR", "COMP_CWORD": "1"}
    done = run(server, _MQADMIN_COMPLETE="bash_complete", **words)
    assert done.stdout.splitlines() == ["plain,topicRoute"]


@pytest.mark.parametrize(
    "line", ["mqadmin tail TBW1", "mqadmin topicRoute -t TBW1", "mqadmin sendMessage -p x -t TBW1"]
)
def test_completion_knows_topics(server: TestServer, line: str) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = run(server, _MQADMIN_COMPLETE="bash_complete", **words)
    assert done.stdout.splitlines() == ["plain,TBW102"]
    nobody = run(
        server, _MQADMIN_COMPLETE="bash_complete", **words | {"NAMESRV_ADDR": "127.0.0.1:1"}
    )
    assert (nobody.stdout, nobody.stderr) == ("\n", "") or nobody.stdout == ""


def test_every_command_has_its_file_and_help(server: TestServer) -> None:
    for name in COMMANDS:
        assert (HOME / "mqadmin" / "commands" / f"{module_of(name)}.py").is_file()
        assert find(name.upper()) == name
    left_out = [name for names in LEFT_OUT.values() for name in names]
    # RocketMQ 5.5.0's tool has 96 commands.
    assert len({*COMMANDS, *left_out} - OWN) == len(COMMANDS) - len(OWN) + len(left_out) == 96
    done = run(server, "help", "updateTopic")
    assert done.stdout.startswith("Usage: mqadmin updateTopic")
    assert COMMANDS["updateTopic"] in done.stdout


def test_a_start_loads_only_what_it_needs() -> None:
    code = (
        "import sys, mqadmin.cli, mqadmin.commands.topic_list;"
        "print([m for m in ('trio', 'rich', 'construct', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOME
    )
    assert done.stdout == "[]\n"


def test_access_keys_of_the_tools_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimq.admin.connecting.signing import AccessKeys
    from trimq.mqadmin.files.tools import keys_of_tools_file

    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text('accessKey: "me"\nsecretKey: s3cret\n# end\n')
    monkeypatch.setenv("ROCKETMQ_HOME", str(tmp_path))
    assert keys_of_tools_file() == AccessKeys("me", "s3cret")
    monkeypatch.setenv("ROCKETMQ_HOME", str(tmp_path / "elsewhere"))
    assert keys_of_tools_file() is None


def test_a_file_of_a_log_is_read_without_a_server(server: TestServer) -> None:
    file = HOME / "tests" / "vectors" / "commitlog-head.bin"
    done = run(server, "dumpCompactionLog", "-f", str(file), "--json", NAMESRV_ADDR="")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert messages[0]["physicalOffset"] == 0
    for before, after in pairwise(messages):
        assert after["physicalOffset"] == before["physicalOffset"] + before["storeSize"]


def test_exports_are_files(server: TestServer, tmp_path: Path) -> None:
    for command, name in (
        ("exportConfigs", "configs"),
        ("exportMetadata", "metadata"),
        ("exportMetrics", "metrics"),
    ):
        done = run(server, command, "-c", "DefaultCluster", "-f", str(tmp_path / "new"))
        file = tmp_path / "new" / f"{name}.json"
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.strip() == f"export {file} success"
        assert json.loads(file.read_text())
