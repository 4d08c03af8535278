"""These tests start no JVM, but need what the extra `spark` brings."""

import pytest

for _package in ("pyarrow", "pyspark"):
    pytest.importorskip(
        _package, reason=f"{_package} is not installed: pip install -r requirements/spark.txt"
    )
