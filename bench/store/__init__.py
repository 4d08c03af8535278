"""How fast the store is by itself, beside the disk it stands on. ``python -m bench.store``."""
