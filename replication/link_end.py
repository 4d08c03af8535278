"""Why a link between master and slave ends."""


class LinkEnd(Exception):
    """The connection is of no use any more; the text says why."""
