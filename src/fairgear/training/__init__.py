"""The training loop and its checkpoints: what every method's `fit` runs on."""

from fairgear.training.checkpoints import Checkpoint
from fairgear.training.loop import History, Task, Validation, train
from fairgear.training.seeding import seeded

__all__ = ["Checkpoint", "History", "Task", "Validation", "seeded", "train"]
