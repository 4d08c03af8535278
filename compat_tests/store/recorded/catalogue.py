"""All stores that are recorded."""

from __future__ import annotations

from typing import Final

from compat_tests.store.recorded import everything, kinds, waiting
from compat_tests.store.recorded.recipe import Recipe

RECIPES: Final[tuple[Recipe, ...]] = (*everything.STORES, *kinds.STORES, *waiting.STORES)
