"""Headless Chromium for tests: the path of the program, and a page of it that Playwright drives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
needs_chromium = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")


@contextmanager
def browser_page(width: int = 900, height: int = 600, **options: Any) -> Iterator[Any]:
    """A page of a browser without a network; its `errors` are those of the console and of scripts."""
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", *WEBGL])
        try:
            page = browser.new_page(
                viewport={"width": width, "height": height}, offline=True, **options
            )
            page.errors = []
            page.on(
                "console",
                lambda message: message.type == "error" and page.errors.append(message.text),
            )
            page.on("pageerror", lambda error: page.errors.append(str(error)))
            yield page
        finally:
            browser.close()
