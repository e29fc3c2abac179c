"""Records: dataclasses of results, from what `json_ready` made of them."""

from __future__ import annotations

from fairgear.decoding import from_json

__all__ = ["from_json"]
