"""The recipes of docs/in-tests.md and docs/testing.md, run as they are pasted: only the image's name is another one.

Each prints how long it took from the start to the first message that an official client had acknowledged. The page
has those figures.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from compat_tests.images.engine import TAG
from compat_tests.scenarios import go_driver
from compat_tests.servers import artifacts
from tests.docs.pages import blocks

PAGE: Final = "docs/in-tests.md"
PROCESSES: Final = "docs/testing.md"
# What the recipes are to take, and what a machine that is busy with other tests may.
WANTED: Final = 2.0
LIMIT: Final = 20.0
# Of the `trimq` command.
BIN: Final = Path(sys.executable).parent
TESTCONTAINERS: Final = "testcontainers-2.0.5"
QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
SENT_BY_GO: Final = r"([\d.]+) s: +\w+_test\.go:\d+: [0-9A-Fa-f]{32}\n.*PASS: TestOrders"
needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
# Twice: the first time most of it is the JVM that loads Testcontainers and the client.
TIMED: Final = """
import java.io.PrintStream;

public class Timed {
    static long began;

    public static void main(String[] args) throws Exception {
        PrintStream output = System.out;
        System.setOut(new PrintStream(output) {
            @Override public void println(Object said) {
                output.println(said + " after " + (System.nanoTime() - began) / 1e9 + " s");
            }
        });
        for (int time = 0; time < 2; time++) {
            began = System.nanoTime();
            %s.main(args);
        }
    }
}
"""
# The lines of a program, each with the seconds since its start.
STAMPED: Final = """
import subprocess, sys, time
began = time.monotonic()
with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True) as it:
    for line in it.stdout:
        print(f"{time.monotonic() - began:.2f} s: {line}", end="")
sys.exit(it.returncode)
"""


def code(language: str, page: str = PAGE) -> list[str]:
    """The blocks of a page in a language, with the image of these tests."""
    found = [block.text for block in blocks(page) if block.info == language]
    assert found
    return (
        [text.replace('"trimq"', f'"{TAG}"').replace(" trimq --", f" {TAG} --") for text in found]
        if page == PAGE
        else found
    )


def run(command: list[str], folder: Path) -> str:
    """Standard output. Testcontainers would fetch an image that removes ours: the recipes remove them themselves."""
    more = {"TESTCONTAINERS_RYUK_DISABLED": "true", "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def took(said: str, pattern: str) -> None:
    """`pattern` finds the seconds until the first message: each of its groups adds some."""
    found = re.search(pattern, said, re.DOTALL)
    assert found is not None, said
    seconds = sum(map(float, found.groups()))
    print(f"start to first message: {seconds:.2f} s (wanted: {WANTED:.0f} s)")
    assert seconds < LIMIT


def java(folder: Path, programs: list[str], library: str) -> str:
    """What the last of the programs prints, timed."""
    names = [re.search(r"class (\w+)", text)[1] for text in programs]  # type: ignore[index]
    sources = dict(zip(names, programs, strict=True)) | {"Timed": TIMED % names[-1]}
    for name, text in sources.items():
        (folder / f"{name}.java").write_text(text)
    path = f"{folder}:{artifacts.classpath(artifacts.jars(library))}"
    files = [str(folder / f"{name}.java") for name in sources]
    run(["javac", "-proc:none", "-cp", path, "-d", str(folder), *files], folder)
    return run(["java", *QUICK, "-cp", path, "Timed"], folder)


def go(folder: Path, files: list[str]) -> str:
    """What the tests in these files say, with the seconds that each of their lines took to come."""
    for number, text in enumerate(files):
        (folder / f"recipe{number}_test.go").write_text(text)
    for name in ("go.mod", "go.sum"):
        shutil.copy(go_driver.SOURCES / name, folder)
    run(["go", "test", "-c", "-o", "recipe"], folder)
    return run([sys.executable, "-c", STAMPED, "./recipe", "-test.v"], folder)


def python(folder: Path, conftest: str, *files: str) -> str:
    """What pytest says of these files, with the seconds that fixtures and tests took."""
    (folder / "conftest.py").write_text(conftest)
    for number, text in enumerate(files):
        (folder / f"test_recipe{number}.py").write_text(text)
    options = ("-p", "no:cacheprovider", "-p", "no:randomly", "--durations=0", "-vv")
    return run([sys.executable, "-m", "pytest", *options], folder)


@needs_java
@pytest.mark.usefixtures("image_size")
def test_java_with_testcontainers(tmp_path: Path) -> None:
    pom = (artifacts.TESTS / f"scenarios/java/pom-{TESTCONTAINERS}.xml").read_text()
    (dependencies,) = code("xml")
    assert dependencies.split() == re.findall(r"<dependency>.*</dependency>", pom)
    said = java(tmp_path, code("java"), TESTCONTAINERS)
    took(said, r"SEND_OK after ([\d.]+) s")
    took(said, r"SEND_OK.*SEND_OK after ([\d.]+) s")


@needs_java
def test_java_with_a_process(tmp_path: Path) -> None:
    """The same program, with the other class."""
    (recipe,) = code("java", PROCESSES)
    _, program = code("java")
    # A new one each time.
    store = 'java.nio.file.Path.of("store" + System.nanoTime())'
    for container, process in (
        ("new RocketMqContainer()", f"new RocketMqForTests({store})"),
        ("rocketmq.start();", ""),
        ("rocketmq.namesrvAddr()", "rocketmq.namesrvAddr"),
    ):
        assert container in program
        program = program.replace(container, process)
    said = java(tmp_path, [recipe, program], TESTCONTAINERS)
    took(said, r"SEND_OK after ([\d.]+) s")
    took(said, r"SEND_OK.*SEND_OK after ([\d.]+) s")


@needs_go
@pytest.mark.usefixtures("image_size")
def test_go_with_docker(tmp_path: Path) -> None:
    took(go(tmp_path, code("go")), SENT_BY_GO)


@needs_go
def test_go_with_a_process(tmp_path: Path) -> None:
    (recipe,) = code("go", PROCESSES)
    _, program = code("go")
    took(go(tmp_path, [recipe, program]), SENT_BY_GO)


@pytest.mark.usefixtures("image_size")
def test_python_with_docker(tmp_path: Path) -> None:
    said = python(tmp_path, *code("python"))
    assert "1 passed" in said
    took(said, r"([\d.]+)s setup .*?([\d.]+)s call ")


@pytest.mark.usefixtures("image_size")
def test_shell(tmp_path: Path) -> None:
    """What comes after it in the page's order is a client of the variable that it has set."""
    (recipe,) = code("sh")
    client = f"{sys.executable} -m trimq.mqadmin sendMessage -t Orders -p hello"
    script = f"set -e\n{recipe}{client}\necho sent\ndocker rm -f -v $container\n"
    said = run([sys.executable, "-c", STAMPED, "sh", "-c", script], tmp_path)
    took(said, r"([\d.]+) s: sent\n")


def test_python_with_the_fixture(tmp_path: Path) -> None:
    _, program = code("python")
    fixture = "import pytest\n\n\n@pytest.fixture\ndef namesrv_addr(rocketmq_server):\n"
    said = python(tmp_path, f"{fixture}    return rocketmq_server.namesrv_addr\n", program)
    assert "1 passed" in said
    took(said, r"([\d.]+)s setup .*?([\d.]+)s call ")
