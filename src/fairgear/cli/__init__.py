"""The command line. Only what `--help` needs is imported before a command runs."""

from fairgear.cli.app import main

__all__ = ["main"]
