"""The version that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The version from the package's metadata; "unknown" for a source tree on the path alone."""
    try:
        return version("fairgear")
    except PackageNotFoundError:
        return "unknown"
