"""A moment of what `make soak` does for long, where our own C was built."""

import random

import pytest

from tests.native import fuzz, references
from trimq.codec import native as of_codec
from trimq.store import native as of_store

pytestmark = pytest.mark.skipif(
    not of_codec.IN_C or not of_store.IN_C, reason="make compiled builds our own C"
)


@pytest.mark.parametrize("kind", fuzz.KINDS, ids=lambda kind: kind.__name__)
def test_mutated_inputs_have_the_same_outcome_in_c_and_in_python(kind):
    chance = random.Random(2)
    for _ in range(500):
        kind(chance)


@pytest.mark.parametrize("kind", fuzz.KINDS, ids=lambda kind: kind.__name__)
def test_every_reference_is_given_back(kind, monkeypatch):
    monkeypatch.setattr(references, "ROUNDS", 500)
    assert references.grown(kind) <= references.NOISE


def test_what_is_never_given_back_is_noticed(monkeypatch):
    monkeypatch.setattr(references, "ROUNDS", 500)
    kept = []
    assert references.grown(lambda chance: kept.append(chance.random())) >= 500
