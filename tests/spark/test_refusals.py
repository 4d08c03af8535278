"""What a format does not do is said in a sentence."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import StructType

from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.source import RocketMQOffsetsDataSource
from trimq.spark.store.source import RocketMQStoreDataSource

NOTHING = StructType()


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [
        (lambda: RocketMQStoreDataSource({}).writer(NOTHING, False), "stores can only be read"),
        (
            lambda: RocketMQStoreDataSource({}).streamWriter(NOTHING, False),
            "stores can only be read",
        ),
        (lambda: RocketMQOffsetsDataSource({}).writer(NOTHING, False), "offsets can only be read"),
        (
            lambda: RocketMQOffsetsDataSource({}).streamWriter(NOTHING, False),
            "offsets can only be read",
        ),
        (
            lambda: RocketMQStoreDataSource({}).streamReader(NOTHING).initialOffset(),
            "a store is read once",
        ),
    ],
)
def test_a_sentence(refused: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(SparkSourceError, match=sentence):
        refused()
