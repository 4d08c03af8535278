"""Numbers as text, read as Java reads them: decimal digits, one optional sign, in range.

Hot: compiled by mypyc when a compiler is there.
"""


def parse_int(text: str) -> int | None:
    """Integer.parseInt; None where that throws."""
    number = parse_long(text)
    return number if number is not None and -0x80000000 <= number <= 0x7FFFFFFF else None


def parse_long(text: str) -> int | None:
    """Long.parseLong; None where that throws."""
    if len(text) > 40:
        # More than any number in range has; unbounded text would cost unbounded time.
        return None
    if not text.isdecimal():
        sign = text[:1]
        if sign not in ("-", "+") or not text[1:].isdecimal():
            return None
    number = int(text)
    return number if -0x8000000000000000 <= number <= 0x7FFFFFFFFFFFFFFF else None


def as_long(number: int) -> int:
    """What is left of a sum or product in a Java long: its lowest 64 bits."""
    return (number + 0x8000000000000000) % 0x10000000000000000 - 0x8000000000000000
