"""``python -m trimq`` is the ``trimq`` command."""

from trimq.commands.main import main

if __name__ == "__main__":
    main()
