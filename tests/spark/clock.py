"""A clock by which ten milliseconds pass from each look to the next."""


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 10
        return self.now
