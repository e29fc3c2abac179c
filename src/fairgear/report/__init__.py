"""The web page of a run or an audit, one file that opens anywhere; and a model card's section."""

from fairgear.report.junit import junit_xml
from fairgear.report.links_page import render_links_page, write_links_page
from fairgear.report.ll144 import ll144_markdown, write_ll144
from fairgear.report.model_card import model_card
from fairgear.report.notebook import audit_html
from fairgear.report.page import render_page, write_page
from fairgear.report.plots import Plots

__all__ = [
    "Plots",
    "audit_html",
    "junit_xml",
    "ll144_markdown",
    "model_card",
    "render_links_page",
    "render_page",
    "write_links_page",
    "write_ll144",
    "write_page",
]
