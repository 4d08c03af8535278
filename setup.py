"""Compiles the modules that every message crosses with mypyc, where a C compiler is there.

The sources are the same either way: without a compiler the modules stay plain Python. The environment
variable TRIMQ_COMPILE decides: ``0`` never, ``1`` compile or fail, otherwise compile if possible.
Editable installs stay plain unless it is ``1``: a compiled module would hide later edits of its source.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError

HERE: Final = Path(__file__).parent
WISH: Final = os.environ.get("TRIMQ_COMPILE", "auto")
# Plain typed Python without construct, trio and click; a class whose base is here must be here too.
HOT: Final = """
    codec/batch codec/command codec/flags codec/frame codec/headers/fast codec/java codec/numbers
    codec/properties codec/queue_entry codec/record
    remoting/dispatch remoting/exchange remoting/outbox remoting/parked remoting/poller remoting/turn
    remoting/wire
    store/append store/batch_reading store/batch_records store/commit_log store/consume_queue store/consume_queues
    store/errors store/files store/index_entries store/index_file store/index_keys store/index_slots
    store/loading store/message store/page_cache store/reading store/record_limits
    store/segment store/tags
    broker/offsets broker/puts broker/tag_filters broker/traffic broker/unique_ids
    processors/consume/_answers processors/consume/_checks processors/consume/_pulling
    processors/consume/_subscriptions
    processors/produce/_admission processors/produce/_properties processors/produce/_retries
    processors/produce/_sending
"""
# What a batch costs per message, in C; docs/speed.md says why. Each function has a twin in Python.
KERNEL: Final = "codec/_kernel.c"


class BuildOptional(build_ext):
    """The modules are worth having compiled, and work without."""

    def run(self) -> None:
        try:
            super().run()
        except BaseError as error:
            if WISH == "1":
                raise
            print(f"trimq: stays plain Python, compiling failed: {error}", file=sys.stderr)
            self._remove_outputs()
            self.extensions = []

    def _remove_outputs(self) -> None:
        """All or nothing: the modules import each other's compiled form."""
        for extension in self.extensions:
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)


def can_compile() -> bool:
    """Whether there is a C compiler, and Python's headers."""
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler, get_python_inc

    compiler = new_compiler()
    customize_compiler(compiler)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text("#include <Python.h>\n")
        try:
            compiler.compile([str(source)], output_dir=folder, include_dirs=[get_python_inc()])
        except BaseError:
            return False
    return True


def is_wanted() -> bool:
    if WISH == "1":
        return True
    return WISH != "0" and "editable_wheel" not in sys.argv and can_compile()


def hot_modules() -> list[Extension]:
    """The extensions to build; none when the modules stay plain."""
    if not is_wanted():
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        if WISH == "1":
            raise
        print("trimq: stays plain Python, mypy is not installed", file=sys.stderr)
        return []
    paths = [f"{module}.py" for module in HOT.split()]
    # The packages that TriMQ runs with need not be there: `make lint` has checked the types.
    options = ["--config-file", str(HERE / "mypyc.ini")]
    extensions: list[Extension] = mypycify([*options, *paths], opt_level="3")
    extensions.append(Extension("codec._kernel", [KERNEL], extra_compile_args=["-O3", "-Wall"]))
    return extensions


setup(ext_modules=hot_modules(), cmdclass={"build_ext": BuildOptional})
