"""Hypothesis runs the same examples every time; `--hypothesis-profile=wide` looks further."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("wide", max_examples=5000, deadline=None)
settings.load_profile("same")
