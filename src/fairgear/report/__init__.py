"""The web page of a run or an audit, one file that opens anywhere; and a model card's section."""

from fairgear.report.model_card import model_card
from fairgear.report.page import render_page, write_page

__all__ = ["model_card", "render_page", "write_page"]
