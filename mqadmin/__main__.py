"""``python -m mqadmin`` is the ``mqadmin`` command."""

from trimq.mqadmin.cli import main

if __name__ == "__main__":
    main(prog_name="mqadmin")
