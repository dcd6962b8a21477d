"""A browser that a test drives. WebDriver, the W3C's protocol, is JSON over HTTP: chromedriver takes it as it is."""

from __future__ import annotations

import base64
import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

PORT = 9515
TAB, SHIFT, END, ESCAPE, LEFT, RIGHT = "\ue004", "\ue008", "\ue010", "\ue00c", "\ue012", "\ue014"  # keys, as WebDriver numbers them
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's id, by the standard


class BrowserError(Exception):
    """What the browser could not do, in its words."""


class Browser:
    """Chromium without a screen, by way of a chromedriver that listens on `address`."""

    def __init__(self, address: str, profile: Path, size: tuple[int, int] = (1000, 1270)):
        self.address = address
        self._driver = f"http://{address}:{PORT}"
        # No sandbox: it needs privileges that a container rarely has, and the only page opened is the test's own.
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
                 f"--window-size={size[0]},{size[1]}", "--force-device-scale-factor=1.5", "--hide-scrollbars",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # a login node waits for no name server
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"binary": "/usr/bin/chromium", "args": words}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def open(self, url: str) -> None:
        self._ask("POST", f"{self._session}/url", {"url": url})

    def script(self, source: str, *arguments):
        """What a piece of JavaScript in the page returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": source, "args": list(arguments)})

    def click(self, selector: str) -> None:
        """As a mouse does: an element that is hidden or covered is an error."""
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"{self._session}/element/{found[_ELEMENT]}/click", {})

    def press(self, *keys: str) -> None:
        """All at once, then up again: ``press(SHIFT, TAB)``."""
        actions = [*({"type": "keyDown", "value": key} for key in keys), *({"type": "keyUp", "value": key} for key in reversed(keys))]
        self._ask("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type_into(self, selector: str, keys: str) -> None:
        """Keys that the element gets."""
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"{self._session}/element/{found[_ELEMENT]}/value", {"text": keys})

    def allow(self, what: str) -> None:
        """As if the user had allowed it: ``notifications``."""
        self._ask("POST", f"{self._session}/permissions", {"descriptor": {"name": what}, "state": "granted"})

    def drag(self, selector: str, start: tuple[int, int], end: tuple[int, int]) -> None:
        """With the mouse, between two places that are counted from the element's middle."""
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        to = lambda place, ms: {"type": "pointerMove", "origin": found, "x": place[0], "y": place[1], "duration": ms}
        middle = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2)
        steps = [to(start, 0), {"type": "pointerDown", "button": 0}, to(middle, 100), to(end, 100), {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        self._ask("POST", f"{self._session}/actions", {"actions": [mouse]})

    @contextlib.contextmanager
    def other_tab(self) -> Iterator[None]:
        """What is opened and looked at meanwhile is in a new tab."""
        before = self._ask("GET", f"{self._session}/window")
        new = self._ask("POST", f"{self._session}/window/new", {"type": "tab"})["handle"]
        self._ask("POST", f"{self._session}/window", {"handle": new})
        try:
            yield
        finally:
            self._ask("DELETE", f"{self._session}/window")
            self._ask("POST", f"{self._session}/window", {"handle": before})

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("GET", f"{self._session}/screenshot")))

    def close(self) -> None:
        self._ask("DELETE", self._session)

    def _ask(self, method: str, path: str, body: dict | None = None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._driver + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"]["message"]) from None
