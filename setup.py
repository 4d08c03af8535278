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
    trimq/codec/batch trimq/codec/command trimq/codec/flags trimq/codec/frame
    trimq/codec/headers/fast trimq/codec/java trimq/codec/numbers trimq/codec/properties
    trimq/codec/queue_entry trimq/codec/record
    trimq/remoting/dispatch trimq/remoting/exchange trimq/remoting/outbox trimq/remoting/parked
    trimq/remoting/poller trimq/remoting/turn trimq/remoting/wire
    trimq/store/append trimq/store/batch_reading trimq/store/batch_records trimq/store/commit_log
    trimq/store/consume_queue trimq/store/consume_queues trimq/store/errors trimq/store/files
    trimq/store/index_entries trimq/store/index_file trimq/store/index_keys trimq/store/index_slots
    trimq/store/loading trimq/store/message trimq/store/page_cache trimq/store/reading
    trimq/store/record_limits trimq/store/segment trimq/store/tags
    trimq/broker/offsets trimq/broker/puts trimq/broker/tag_filters trimq/broker/traffic
    trimq/broker/unique_ids
    trimq/processors/consume/_answers trimq/processors/consume/_checks
    trimq/processors/consume/_pulling trimq/processors/consume/_subscriptions
    trimq/processors/produce/_admission trimq/processors/produce/_properties
    trimq/processors/produce/_retries trimq/processors/produce/_sending
"""
# What a batch costs per message, in C; docs/speed.md says why. Each function has a twin in Python.
KERNEL: Final = "trimq/codec/_kernel.c"


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
    extensions.append(
        Extension("trimq.codec._kernel", [KERNEL], extra_compile_args=["-O3", "-Wall"])
    )
    return extensions


setup(ext_modules=hot_modules(), cmdclass={"build_ext": BuildOptional})
