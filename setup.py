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
import readme  # noqa: E402


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
        extensions = compiling.extensions(
            compiling.hot_modules(HERE), str(HERE / "mypyc.ini"), built
        )
    except compiling.CannotCompile as missing:
        reasons.give(str(missing))

setup(
    long_description=readme.for_an_index((HERE / "README.md").read_text("utf-8")),
    long_description_content_type="text/markdown",
    ext_modules=extensions,
    cmdclass=compiling.commands(reasons),
    package_dir=editable_layout() if "editable_wheel" in sys.argv else {},
    options=options,
)
