"""What the maintainers measure, and the commands that write the tables of docs/."""

from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS / "results"
