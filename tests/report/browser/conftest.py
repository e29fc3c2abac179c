"""Pages in a real browser: Chromium as it is installed, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    sync_playwright,
)

from fairgear.auditing import Audit
from fairgear.report import render_page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = [
    # Containers run tests as root, where Chromium cannot build its sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What axe calls serious: people are kept out, not just annoyed.
_SERIOUS = ("serious", "critical")
# Raised where the policy forbids something; read by `Opened.complaints`.
_WATCH = """
window.__forbidden = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__forbidden.push(event.violatedDirective + " " + event.blockedURI);
});
"""


@dataclass
class Opened:
    """A page that is open in the browser, and everything it did that it must not do.

    Attributes:
        page: Playwright's.
        path: of the file.
        requests: every address that was asked for.
        errors: what stood on the console as an error or a warning, and exceptions.
    """

    page: Page
    path: Path
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def complaints(self) -> list[str]:
        """Requests beside the page itself, errors, and violations of its policy; should be none."""
        other = [one for one in self.requests if one.partition("#")[0] != self.path.as_uri()]
        forbidden: list[str] = self.page.evaluate("window.__forbidden")
        return [*other, *self.errors, *forbidden]

    def violations(self) -> list[str]:
        """What axe finds serious, as a rule and the first place each."""
        found: dict[str, Any] = Axe().run(self.page).response
        return [
            f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:160]}"
            for one in found["violations"]
            if one["impact"] in _SERIOUS
        ]


OpenPage = Callable[..., Opened]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=found, args=_FLAGS)
        yield one
        one.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Opens an audit's page, or HTML, as a file at a width, in light or dark."""
    contexts: list[BrowserContext] = []

    def opened(
        shown: Audit | str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        hash: str = "",
        **options: Any,
    ) -> Opened:
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(shown if isinstance(shown, str) else render_page(shown), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        context.set_default_timeout(10_000)
        found = Opened(context.new_page(), path)

        def asked(request: Request) -> None:
            found.requests.append(request.url)

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                found.errors.append(message.text)

        found.page.on("request", asked)
        found.page.on("console", said)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.add_init_script(_WATCH)
        found.page.goto(path.as_uri() + hash)
        return found

    yield opened
    for context in contexts:
        context.close()
