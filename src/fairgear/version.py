"""The installed version, read when it is asked for."""

from importlib.metadata import version


def installed_version() -> str:
    """The version of fairgear that is installed."""
    return version("fairgear")
