"""What some people would get in other worlds, and why."""

from fairgear.auditing.what_if.records import (
    Column,
    ExplainedPerson,
    Links,
    Member,
    Part,
    State,
    WhatIf,
    Why,
)

__all__ = ["Column", "ExplainedPerson", "Links", "Member", "Part", "State", "WhatIf", "Why"]
