"""What is read off Java sources, and what of it is a change: on small files that were made up for it."""

import pytest

from compat_tests.drift import facts
from compat_tests.drift.__main__ import Change, changes, table
from compat_tests.drift.ours import file_of, snake
from compat_tests.servers.artifacts import ROOT

HOME = "org/apache/rocketmq"
CODES = "public class RequestCode { public static final int PULL_MESSAGE = 11; }"
FIELDS = """
public class OneRequestHeader implements CommandCustomHeader {
    private static final int UNSEEN = 1;
    @CFNotNull
    private String topic;
    private Integer queueId, other = 3;
    public static class Inner { private long deep = 1024 * 1024; }
}
"""
FILES = {
    f"{HOME}/remoting/protocol/RequestCode.java": CODES,
    f"{HOME}/remoting/protocol/header/OneRequestHeader.java": FIELDS,
    f"{HOME}/remoting/protocol/body/OneBody.java": "class OneBody { Set<String/* name */> names = new HashSet<>(); }",
    f"{HOME}/common/BrokerConfig.java": "class BrokerConfig { private int waiting = 5 * 1000; }",
    f"{HOME}/broker/metrics/BrokerMetricsConstant.java": (
        'class BrokerMetricsConstant { public static final String NAME = "rocketmq_a_name"; }'
    ),
    f"{HOME}/tools/command/OneCommand.java": """
class OneCommand implements SubCommand {
    public String commandName() { return "topicList"; }
    public Options buildCommandlineOptions(Options options) {
        Option opt = new Option("n", "namesrvAddr", true, "words of theirs");
        options.addOption(opt);
        options.addOption(new Option("c", "cluster", false, "words of theirs"));
        return options;
    }
}
""",
    f"{HOME}/broker/processor/OneProcessor.java": """
class OneProcessor {
    RemotingCommand one() { response.setRemark("not " + "so"); log.info("unheard"); return response; }
    RemotingCommand two() { return RemotingCommand.createResponseCommand(1, "no"); }
}
""",
    f"{HOME}/store/OneQueue.java": "class OneQueue { public static final int UNIT_SIZE = 20; int size = 3; }",
    f"{HOME}/broker/Another.java": "class Another { static final int NOBODYS = 7; int mine = 8; }",
}


def read(**others: str) -> facts.Facts:
    """Of the files, with another text in those whose names are said."""
    found = {
        path: others.get(path.split("/")[-1].split(".")[0], text) for path, text in FILES.items()
    }
    return facts.facts((path, text.encode()) for path, text in found.items())


def test_each_kind_is_read() -> None:
    found = read()
    remarks = {fact.name: found.pop(fact) for fact in list(found) if fact.kind == facts.REMARK}
    assert found == {
        facts.Fact(facts.REQUEST_CODE, "PULL_MESSAGE"): "11",
        facts.Fact(facts.HEADER, "OneRequestHeader.topic"): "String, required",
        facts.Fact(facts.HEADER, "OneRequestHeader.queueId"): "Integer",
        facts.Fact(facts.HEADER, "OneRequestHeader.other"): "Integer = 3",
        facts.Fact(facts.HEADER, "Inner.deep"): "long = 1024*1024",
        facts.Fact(facts.BODY, "OneBody.names"): "Set<String> = newHashSet<>()",
        facts.Fact(facts.SETTING, "BrokerConfig.waiting"): "int = 5*1000",
        facts.Fact(facts.METRIC, "BrokerMetricsConstant.NAME"): "rocketmq_a_name",
        facts.Fact(facts.COMMAND, "topicList"): "is there",
        facts.Fact(facts.COMMAND, "topicList -n"): "--namesrvAddr, takes a value",
        facts.Fact(facts.COMMAND, "topicList -c"): "--cluster, a flag",
        facts.Fact(facts.LAYOUT, "OneQueue.UNIT_SIZE"): "20",
    }
    assert {name: text.split(",")[0] for name, text in remarks.items()} == {
        "OneProcessor.one": "2 texts",
        "OneProcessor.two": "1 texts",
    }


def test_what_is_said_alike_is_no_change() -> None:
    spaced = CODES.replace("= 11", "=\n  /* as ever */ 11").replace("public class", "// new\nclass")
    assert changes(read(), read(RequestCode=spaced)) == []


def test_four_changes_are_four_findings() -> None:
    name = "OneProcessor"
    processor = FILES[f"{HOME}/broker/processor/{name}.java"]
    new = read(
        RequestCode=CODES.replace("}", "public static final int PEEK = 5002; }"),
        OneRequestHeader=FIELDS.replace("@CFNotNull", ""),
        BrokerConfig="class BrokerConfig { private int waiting = 6 * 1000; }",
        OneProcessor=processor.replace('"so"', '"thus"'),
    )
    found = changes(read(), new)
    assert found[:3] == [
        Change(facts.Fact(facts.REQUEST_CODE, "PEEK"), "-", "5002"),
        Change(facts.Fact(facts.HEADER, "OneRequestHeader.topic"), "String, required", "String"),
        Change(facts.Fact(facts.SETTING, "BrokerConfig.waiting"), "int = 5*1000", "int = 6*1000"),
    ]
    assert [one.fact for one in found[3:]] == [facts.Fact(facts.REMARK, f"{name}.one")]
    shown = "\n".join(table(found))
    assert "| PEEK | - | 5002 |" in shown
    # What they say to others is theirs.
    assert "thus" not in shown


@pytest.mark.parametrize(
    ("fact", "file"),
    [
        (facts.Fact(facts.REQUEST_CODE, "RECALL_MESSAGE"), "processors/produce/recall_message.py"),
        (facts.Fact(facts.REQUEST_CODE, "NOBODY_HAS_THIS"), ""),
        (facts.Fact(facts.HEADER, "RecallMessageRequestHeader.topic"), "codec/headers/messages.py"),
        (facts.Fact(facts.COMMAND, "deleteTopic -c"), "mqadmin/commands/delete_topic.py"),
        (
            facts.Fact(facts.REMARK, "RecallMessageProcessor.processRequest"),
            "processors/produce/recall_message.py",
        ),
    ],
)
def test_our_file_stands_beside(fact: facts.Fact, file: str) -> None:
    assert file_of(fact) == file
    assert not file or (ROOT / file).exists()


def test_names_of_java_are_ours_in_snake_case() -> None:
    assert snake("PullMessage") == "pull_message"
