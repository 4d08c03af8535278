"""``python -m trimq`` is the ``trimq`` command."""

from trimq.command import main

if __name__ == "__main__":
    main()
