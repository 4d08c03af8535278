"""Names of protocol versions (MQVersion): a peer sends a number, tools print its name."""

from collections.abc import Iterator
from functools import cache

_BETAS = (
    "SNAPSHOT ALPHA1 BETA1 BETA2 BETA3 BETA4 BETA5 BETA6_SNAPSHOT BETA6 BETA7_SNAPSHOT BETA7"
    " BETA8_SNAPSHOT BETA8 BETA9_SNAPSHOT BETA9 FINAL"
)


def version_name(number: int) -> str:
    """`V5_5_1` of 515; numbers beyond the last one get the last name."""
    names = _names()
    return names[min(number, len(names) - 1)]


def version_number(name: str) -> int:
    """515 of `V5_5_1`."""
    return _names().index(name)


@cache
def _names() -> tuple[str, ...]:
    return (*(f"V3_0_0_{beta}" for beta in _BETAS.split()), *_releases(), "HIGHER_VERSION")


def _releases() -> Iterator[str]:
    """Every release after its snapshot. 3.0 went to 15, and from 3.3 to 3.9 there was no .0."""
    for minor in range(30, 60):
        first = 1 if minor == 30 or 33 <= minor <= 39 else 0
        for patch in range(first, 16 if minor == 30 else 10):
            name = f"V{minor // 10}_{minor % 10}_{patch}"
            yield f"{name}_SNAPSHOT"
            yield name
