"""Which revision of a method a result belongs to: old results are not taken for new ones."""

from __future__ import annotations

from fairgear.experiments.compare_entry import Entry

# Raised for a method whenever the same settings give other results than before; those that are
# not named are at 1. Rows of an earlier revision are measured again.
REVISIONS = {"gear": 5, "gear:preset=paper": 1}


# Raised whenever worlds, protocols or metrics give other figures for the same model.
EVALUATION = 0


def revision(entry: Entry) -> int:
    """Of the method, for gear of the preset that the settings start from, and of what measures it.

    A sum, which is another whenever one of them is raised.
    """
    name = f"{entry.method}:preset=paper" if entry.preset == "paper" else entry.method
    return REVISIONS.get(name, 1) + EVALUATION
