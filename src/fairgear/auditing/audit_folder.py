"""The folder of an audit: what it holds, written whole, and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.auditing.comparison import Comparison
from fairgear.auditing.result import Audit
from fairgear.errors import FileError
from fairgear.files import (
    TEMPORARY,
    remove_leftovers,
    replacing,
    write_json,
    write_text,
    writes,
)
from fairgear.report import model_card, write_audit

AGAINST = "against"


class AuditFolder:
    """`audit.json`, `people.parquet`, `audit.html` and `model-card.md`."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.json = self.path / "audit.json"
        self.people = self.path / "people.parquet"
        self.page = self.path / "audit.html"
        self.card = self.path / "model-card.md"

    def claim(self) -> None:
        """Refuse a folder that holds anything but an earlier audit, before any work is done."""
        ours = {file.name for file in self._files()}
        try:
            held = {entry.name for entry in self.path.iterdir()}
        except FileNotFoundError:
            return
        except OSError as error:
            raise FileError(
                f"output folder {self.path}",
                str(error.strerror or error).lower(),
                "a folder, new or not",
                "choose another --out",
            ) from error
        other = sorted(name for name in held - ours if not name.endswith(TEMPORARY))
        if AGAINST in other and self.against.path.is_dir():
            # Somebody's own folder may have that name too.
            self.against.claim()
            other.remove(AGAINST)
        if other:
            raise FileError(
                f"output folder {self.path}",
                f"other files in it, such as {other[0]}",
                "a new or empty folder, or that of an earlier audit",
                "choose another --out",
            )
        remove_leftovers(self.path)

    @property
    def against(self) -> AuditFolder:
        """That of the model it is compared with."""
        return AuditFolder(self.path / AGAINST)

    def write(
        self,
        audit: Audit,
        *,
        against: Comparison | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Write all four; returns what the JSON holds. Where the JSON is, all is there."""
        facts = audit.to_dict() | {
            "comparison": None if against is None else against.to_dict(),
            "provenance": dict(provenance or {}),
        }
        if writes():
            self.json.unlink(missing_ok=True)
            if against is None:
                self.against.remove()
        with replacing(self.people) as temporary:
            audit.people.to_parquet(temporary, index=False)
        write_audit(facts, self.page)
        write_text(self.card, model_card(facts))
        write_json(self.json, facts)
        return facts

    def remove(self) -> None:
        """Take our files away, and the folder where nothing else is in it."""
        for file in self._files():
            file.unlink(missing_ok=True)
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def _files(self) -> tuple[Path, ...]:
        return self.json, self.people, self.page, self.card

    def read(self) -> Audit:
        """The audit that `write` wrote."""
        facts = self.facts()
        try:
            return Audit.from_dict(facts, pd.read_parquet(self.people))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged() from error

    def facts(self) -> dict[str, Any]:
        """What the JSON holds."""
        try:
            facts = json.loads(self.json.read_text(encoding="utf-8"))
            fine = isinstance(facts, dict) and facts.get("kind") == "audit"
        except (OSError, ValueError) as error:
            raise self._damaged() from error
        if not fine:
            raise self._damaged()
        return dict(facts)

    def _damaged(self) -> FileError:
        return FileError(
            f"audit folder {self.path}",
            "no audit.json and people.parquet of an audit in it",
            "a folder that fairgear audit wrote",
            "check the path, or audit again",
        )
