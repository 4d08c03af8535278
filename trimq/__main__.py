"""``python -m trimq`` is the ``trimq`` command."""

from trimq.cli import main

if __name__ == "__main__":
    main()
