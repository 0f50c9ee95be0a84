# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""What a browser must never find in a page of ours: for Scripts/console-check and Scripts/report-check."""
import pathlib
import shutil
import sys
import urllib.parse

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
try:
    from axe_playwright_python.sync_playwright import Axe
    import playwright.sync_api  # noqa: F401
except ImportError as error:
    print(f"{pathlib.Path(sys.argv[0]).name}: {error.name} is missing; pip install playwright axe-playwright-python", file=sys.stderr)
    sys.exit(77)
if not CHROMIUM:
    print(f"{pathlib.Path(sys.argv[0]).name}: Chromium is missing; apt-get install chromium", file=sys.stderr)
    sys.exit(77)

# A telephone, a tablet and a desk.
WIDTHS = (360, 768, 1280)
THEMES = ("light", "dark")
TIMEOUT = 20_000


def launch(playwright):
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])


class Looker:
    """Collects what is wrong with the pages it looks at."""

    def __init__(self, host: str, screenshots: pathlib.Path | None):
        self.host, self.screenshots = host, screenshots
        self.faults: list[str] = []
        self.seen = {"pages": 0, "axe": 0, "requests": 0}
        if screenshots:
            screenshots.mkdir(parents=True, exist_ok=True)

    def watched(self, context, may_fail: bool = False):
        """A page that reports whatever a reader should never meet."""
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)

        def on_console(message) -> None:
            if message.type == "error" and not (may_fail and "Failed to load resource" in message.text):
                self.faults.append(f"{page.url}: console: {message.text}")

        def on_request(request) -> None:
            self.seen["requests"] += 1
            parts = urllib.parse.urlsplit(request.url)
            if parts.scheme not in ("data", "about", "blob") and parts.netloc != self.host:
                self.faults.append(f"{page.url}: asks {request.url}")

        def on_dialog(dialog) -> None:
            self.faults.append(f"{page.url}: dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", on_console)
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: error: {error}"))
        page.on("request", on_request)
        page.on("dialog", on_dialog)
        return page

    def look(self, page, name: str, with_axe: bool) -> None:
        """Judges the page that is open."""
        self.seen["pages"] += 1
        wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        if wide[0] > wide[1]:
            self.faults.append(f"{name}: {wide[0]} pixels wide on a screen of {wide[1]}")
        if with_axe:
            self.seen["axe"] += 1
            for finding in Axe().run(page).response["violations"]:
                places = "; ".join(" ".join(map(str, node["target"])) for node in finding["nodes"][:3])
                self.faults.append(f"{name}: axe: {finding['id']}: {finding['help']} ({places})")
        if self.screenshots:
            page.screenshot(path=self.screenshots / f"{name}.png", full_page=True)

    def end(self) -> None:
        """Prints the faults and ends with 1 if there is one."""
        name = pathlib.Path(sys.argv[0]).name
        for fault in self.faults:
            print(f"{name}: {fault}", file=sys.stderr)
        print(f"{name}: {self.seen['pages']} pages, {self.seen['axe']} by axe, {self.seen['requests']} requests, {len(self.faults)} faults")
        sys.exit(1 if self.faults else 0)
