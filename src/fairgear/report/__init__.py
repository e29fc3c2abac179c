"""The web page of a run: one file that opens anywhere and asks nothing of the network."""

from fairgear.report.page import render_page, write_page

__all__ = ["render_page", "write_page"]
