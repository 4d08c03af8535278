"""Finding records, in C if that was built, otherwise in Python, under the same name."""

try:
    from trimq.spark.records.scan_native import find_rows
except ImportError:
    from trimq.spark.records.scan_python import find_rows

__all__ = ["find_rows"]
