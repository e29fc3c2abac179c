"""Web pages of runs and audits, each one file that opens anywhere; and a model card's section."""

from fairgear.report.audit_page import render_audit, write_audit
from fairgear.report.model_card import model_card
from fairgear.report.page import render_page, write_page

__all__ = ["model_card", "render_audit", "render_page", "write_audit", "write_page"]
