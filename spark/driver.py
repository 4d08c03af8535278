"""What a driver imports from `trimq.spark`: checks PySpark, and prepares this process for its workers."""

from importlib.util import find_spec

from trimq import __version__

for _package in ("pyspark", "pyarrow"):
    if find_spec(_package) is None:
        raise ImportError(f"{_package} is not installed: pip install '/path/to/trimq[spark]'")

import pyspark  # noqa: E402 - after the checks

from trimq.spark.versions import is_supported  # noqa: E402

if not is_supported(pyspark.__version__):
    raise ImportError(
        f"trimq.spark works with Spark 4; this is {pyspark.__version__}: pip install "
        "'/path/to/trimq[spark]'"
    )

from trimq.spark.sessions import use_this_python  # noqa: E402
from trimq.spark.shipping import arrange  # noqa: E402

arrange(__version__)
use_this_python()
