"""Repeats that give nothing back: the same in both spellings, and on every Python of this machine."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.java.json_scan import DialectScanner
from trimq.codec.regexes import every

ROOT = Path(__file__).parents[2]
TEXTS = (
    b'{"clusterInfoTable":{"c":["a","b"]},"brokers":[{"addr":"h:1","id":0},{"addr":"h:2","id":1}]}',
    b'{0:"a",1:{"t":{2:3,4:5}},"list":[1,"x\\"y",[],{}]}',
    b'{{"brokerName":"b","queueId":0}:{"offset":5},{"brokerName":"b","queueId":1}:{"offset":6}}',
    b'{"a":"' + b"x" * 600 + b'","b":[{"c":[1,2,{"d":null}]}],"e":{}}',
)
STRICT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from trimq.codec.java.json_scan import DialectScanner
print(json.dumps([DialectScanner(text.encode()).strict().decode() for text in json.load(sys.stdin)]))
"""


@given(st.lists(st.sampled_from([b"a", b'"', b"\\", b",", b"1", b":", b"["]), max_size=12))
def test_both_spellings_take_the_same(pieces: list[bytes]) -> None:
    if sys.version_info < (3, 11, 5):
        pytest.skip("one of the spellings is wrong in this Python")
    text, dull = b"".join(pieces), rb'[^",\[]++|"[^"]*+"|,(?!\d)'
    found = [re.match(every(dull, spelling), text) for spelling in (True, False)]
    assert len({match and match.end() for match in found}) == 1


def other_pythons() -> list[str]:
    names = ("python3", "python3.11", "python3.12", "python3.13")
    found = {shutil.which(name, path="/usr/bin:/usr/local/bin") for name in names}
    return sorted({str(Path(one).resolve()) for one in found if one})


def test_other_pythons_read_the_same() -> None:
    asked = 0
    for python in other_pythons():
        version = [python, "-c", "import sys; print(sys.version_info >= (3, 11))"]
        if subprocess.run(version, capture_output=True, text=True, check=True).stdout != "True\n":
            continue
        done = subprocess.run(
            [python, "-c", STRICT, str(ROOT)],
            input=json.dumps([text.decode() for text in TEXTS]),
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == [
            DialectScanner(text).strict().decode() for text in TEXTS
        ], python
        asked += 1
    if not asked:
        pytest.skip("there is no other Python 3.11 or newer on this machine")
