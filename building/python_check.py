"""Whether this Python can make TriMQ's environment: one sentence if not. Any Python can read this file."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # it is there for just those
    sys.exit(
        "TriMQ needs Python 3.11 or newer, and this is {}.{}: set PYTHON=/path/to/python3.11".format(
            *sys.version_info
        )
    )
try:
    for name in ("ensurepip", "venv"):
        __import__(name)
except ImportError:
    sys.exit("Python's venv module is missing: on Debian run 'apt-get install python3-venv'")
