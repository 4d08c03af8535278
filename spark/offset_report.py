"""`spark-submit spark/offset_report.py --namesrv HOST:PORT ...`: see docs/offset-report.md."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Run the command with the options after the script's name."""
    here = Path(__file__).resolve().parent
    # For a script its own folder comes first on the path, but its modules are not top-level ones.
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != here]
    if not __package__ and (here / "__init__.py").exists():
        sys.path.insert(0, str(here.parent))
    try:
        from trimq.spark.offsets.command import report
    except ImportError as error:
        sys.exit(
            f"{sys.executable} cannot load TriMQ ({error}): set PYSPARK_PYTHON to the Python in"
            " which trimq[spark] is installed"
        )
    report(prog_name="offset_report.py")


if __name__ == "__main__":
    main()
