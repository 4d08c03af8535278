"""Lets Spark find `format("rocketmq-offsets")` by itself."""

from trimq.spark.formats import attribute


def __getattr__(name: str) -> object:
    return attribute(__name__, name)
