"""Compiles the modules that every message crosses with mypyc, where a C compiler is there.

The sources are the same either way: without a compiler the modules stay plain Python
(building/compiling.py). Editable installs stay plain: a compiled module would hide later edits.
"""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from setuptools import setup

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE / "building"))
import compiling  # noqa: E402  # it lies beside this file, which is not a package

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


def scratch() -> str:
    """A new folder for what is built: from an earlier state of the sources nothing may stay."""
    folder = tempfile.mkdtemp(prefix="trimq-build-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def editable_layout() -> dict[str, str]:
    """A folder with nothing in it but `trimq` and what Spark looks for, put on the path of who installs it editable.

    Neither the other folders of the checkout nor an import hook: a hook comes after the working
    directory, in which a checkout that is called `trimq` as well would be found first.
    """
    folder = HERE / ".editable"
    folder.mkdir(exist_ok=True)
    for path in (HERE / "trimq", *HERE.glob("pyspark_*.py")):
        if not (folder / path.name).is_symlink():
            (folder / path.name).symlink_to(f"../{path.name}")
    return {"": folder.name}


reasons = compiling.Reasons()
options = {"egg_info": {"egg_base": "."}}
extensions = []
if compiling.BUILDING & set(sys.argv):
    built = scratch()
    if "--inplace" not in sys.argv:
        options["build"] = {"build_base": built}
    try:
        extensions = compiling.extensions(HOT.split(), str(HERE / "mypyc.ini"), built)
    except compiling.CannotCompile as missing:
        reasons.give(str(missing))

setup(
    ext_modules=extensions,
    cmdclass=compiling.commands(reasons),
    package_dir=editable_layout() if "editable_wheel" in sys.argv else {},
    options=options,
)
