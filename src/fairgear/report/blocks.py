"""Pages that people write and programs complete: blocks between two comments are made anew."""

from __future__ import annotations

from collections.abc import Mapping


def with_blocks(page: str, blocks: Mapping[str, str]) -> str:
    """The page with the text between `<!-- name -->` and `<!-- /name -->` replaced, by name."""
    for name, text in blocks.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"the page must have one block {name!r}")
        before, after = page.partition(begin)[0], page.partition(end)[2]
        page = before + begin + text + end + after
    return page
