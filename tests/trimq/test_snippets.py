"""What README and docs/testing.md show works as it is pasted."""

import ast
import builtins
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.servers import artifacts

ROOT = Path(__file__).parents[2]
JARS = artifacts.cache_root() / artifacts.CLIENT_5 / "lib"
PAGES = (
    *("README.md", "docs/testing.md", "docs/configuration.md"),
    *("docs/clients5.md", "docs/hand.md", "docs/mqadmin.md"),
)
# What stands for the reader's own.
READERS = {"is_paid", "place_order", "start_app", "start_my_service"}


def snippets(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python_can_be_compiled(page: str) -> None:
    for code in snippets(page, "python"):
        compile(code, page, "exec")


def unbound(code: str) -> set[str]:
    """Names that a program reads and nowhere makes."""
    found = set()
    bound = set(dir(builtins))
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                found.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.partition(".")[0])
    return found - bound


@pytest.mark.parametrize("page", PAGES)
def test_python_imports_what_it_uses(page: str) -> None:
    """Each block by itself: a reader pastes one. Whether a client is installed here does not matter."""
    for code in snippets(page, "python"):
        assert unbound(code) <= READERS, code


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("with suppress(KeyError):\n    pass", {"suppress"}),
        ("from contextlib import suppress\nwith suppress(KeyError) as it:\n    print(it)", set()),
        ("import a.b as c\nimport d.e\nc, d, e", {"e"}),
        ("try:\n    f()\nexcept OSError as error:\n    print(error)", {"f"}),
        ("async def g(h, *i, **j):\n    k = h, i, j\n    return [l for l in k]\ng", set()),
    ],
)
def test_a_name_without_an_import_is_seen(code: str, missing: set[str]) -> None:
    assert unbound(code) == missing


def test_python_of_the_testing_page_runs(tmp_path: Path) -> None:
    blocks = snippets("docs/testing.md", "python")
    settings = [code for code in blocks if "@pytest.fixture" in code]
    tests = [code for code in blocks if "def test_" in code]
    programs = [code for code in blocks if code not in (*settings, *tests)]
    (tmp_path / "conftest.py").write_text("".join(settings).replace("False", "True"))
    (tmp_path / "test_it.py").write_text("def start_app(**where): pass\n" + "".join(tests))
    (tmp_path / "test_programs.py").write_text(
        "import runpy\n"
        + "".join(
            f"def test_{number}(): runpy.run_path('program{number}.py')\n"
            for number in range(len(programs))
        )
    )
    for number, program in enumerate(programs):
        (tmp_path / f"program{number}.py").write_text(program)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
@pytest.mark.skipif(not JARS.is_dir(), reason="RocketMQ's jars are not there: make proof gets them")
def test_java_compiles(tmp_path: Path) -> None:
    """By one compiler: most of its time it loads itself."""
    pages = {page: snippets(page, "java") for page in ("README.md", "docs/testing.md")}
    for code in itertools.chain.from_iterable(pages.values()):
        name = re.search(r"class (\w+)", code)
        assert name is not None
        source = tmp_path / f"{name[1]}.java"
        assert not source.exists()
        source.write_text(code)
    assert all(pages.values())
    files = sorted(map(str, tmp_path.glob("*.java")))
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
    command = ["javac", *quick, "-proc:none", "-cp", f"{JARS}/*", "-d", str(tmp_path), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("gofmt") is None, reason="Go is not installed")
@pytest.mark.parametrize("page", ["README.md", "docs/testing.md"])
def test_go_is_whole_files(page: str, tmp_path: Path) -> None:
    for number, code in enumerate(snippets(page, "go")):
        file = tmp_path / f"snippet{number}.go"
        file.write_text(code)
        done = subprocess.run(
            ["gofmt", "-e", str(file)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        imported = re.findall(r'^\s+"(?:[\w./-]+/)?(\w+)"$', code, re.MULTILINE)
        assert all(f"{one}." in code for one in imported if one not in ("v2",)), imported


def test_no_page_names_a_package_that_no_index_has() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        assert not re.search(r"pip install '?trimq", page.read_text("utf-8")), page


def test_readme_and_the_speed_page_tell_of_the_same_run() -> None:
    def run(page: str) -> str:
        (block,) = re.findall(
            r"<!-- figures: official -->(.*?)<!-- end figures: official -->",
            (ROOT / page).read_text("utf-8"),
            re.DOTALL,
        )
        (command,) = re.findall(r"`python -m bench [^`]*`, \d{4}-\d\d-\d\d, .*", block)
        return str(command)

    assert run("README.md") == run("docs/speed.md")
