"""The web page of a run or an audit, one file that opens anywhere; and a model card's section."""

from fairgear.report.ll144 import ll144_markdown, write_ll144
from fairgear.report.model_card import model_card
from fairgear.report.page import render_page, write_page

__all__ = ["ll144_markdown", "model_card", "render_page", "write_ll144", "write_page"]
