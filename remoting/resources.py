"""What the servers of a process divide among their connections: memory, and the loop's time for long work."""

from trimq.base.step_queue import StepQueue
from trimq.remoting.memory_budget import MemoryBudget


class Resources:
    """One object for all servers of a process. Without a limit on memory, if none is given."""

    __slots__ = ("memory", "steps")

    def __init__(self, memory: MemoryBudget | None = None, steps: StepQueue | None = None) -> None:
        self.memory = MemoryBudget() if memory is None else memory
        self.steps = StepQueue() if steps is None else steps
