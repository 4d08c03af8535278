"""Texts as Java builds them."""


def java_text(value: str | None) -> str:
    """A string in a remark; an absent one reads ``null``."""
    return "null" if value is None else value
