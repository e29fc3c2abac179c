"""The training loop of every method, and its checkpoints."""

from fairgear.training.checkpoints import Checkpoint
from fairgear.training.loop import History, Task, Validation, train
from fairgear.training.seeding import seeded

__all__ = ["Checkpoint", "History", "Task", "Validation", "seeded", "train"]
