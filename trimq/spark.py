"""RocketMQ topics and store files in PySpark 4. Loads no Trio.

from trimq.spark import RocketMQDataSource

session.dataSource.register(RocketMQDataSource)
session.read.format("rocketmq").option("namesrv", "127.0.0.1:9876").option("topic", "T").load()

`trimq.spark.session()` makes a session in which that is done already.
"""

from importlib.util import find_spec

from trimq import __version__, check_layers

check_layers(("admin", "spark"))

for _package in ("pyspark", "pyarrow"):
    if find_spec(_package) is None:
        raise ImportError(f"{_package} is not installed: pip install 'trimq[spark]'")

import pyspark  # noqa: E402 - after the checks

from spark.versions import is_supported  # noqa: E402

if not is_supported(pyspark.__version__):
    raise ImportError(
        f"trimq.spark works with Spark 4, this is {pyspark.__version__}: pip install 'trimq[spark]'"
    )

from spark.errors import DataLost, SparkSourceError, WrongOption  # noqa: E402
from spark.session import session, use_this_python  # noqa: E402
from spark.shipping import arrange  # noqa: E402
from spark.source import RocketMQDataSource  # noqa: E402
from spark.store_source import RocketMQStoreDataSource  # noqa: E402

arrange(__version__)
use_this_python()

__all__ = [
    "DataLost",
    "RocketMQDataSource",
    "RocketMQStoreDataSource",
    "SparkSourceError",
    "WrongOption",
    "session",
]
