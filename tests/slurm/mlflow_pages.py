"""MLflow's own pages of a store, in a browser: what they say, and pictures of them."""

from __future__ import annotations

import json
from pathlib import Path

from browser import PORT, Browser
from login_node import ROOT, User, wait_until

PICTURES = ROOT / "build" / "logs"
SECONDS = 240  # for anything: the machine may be busy
# The pages for models, not for language models, and nothing over them.
SETTINGS = {"mlflow.workflowType_v1": '"machine_learning"', "mlflow.assistant.panelOpen_v1": "false",
            "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true", "_mlflow_user_setting_dismiss_next_model_registry_ui": "true"}


class Pages:
    """A server of the user's over the store, and a browser on the same login node."""

    def __init__(self, user: User, store: str, size: tuple[int, int]):
        profile = user.folder / "profile"
        profile.mkdir()
        profile.chmod(0o777)  # the user writes there
        server = user.start(["mlflow", "server", f"--backend-store-uri={store}", "--port=5000", "--workers=1"],
                            MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false")
        driver = user.start(["chromedriver", f"--port={PORT}", "--allowed-ips=", "--allowed-origins=*"])
        wait_until(lambda: "was started successfully" in driver.output, SECONDS, "chromedriver listens")
        wait_until(lambda: "startup complete" in server.output, SECONDS, "MLflow's server listens")
        self.browser = Browser(user.node.address, profile, size)
        self.browser.open("http://127.0.0.1:5000/version")
        self._remember(SETTINGS)

    def columns(self, experiment: str, names: list[str]) -> None:
        """Which columns the table of the experiment's runs has."""
        self._remember({f'MLflowLocalStorage-1.1-ExperimentPage-["{experiment}"]-ReactComponentState':
                        json.dumps({"selectedColumns": names, "columnWidths": {}})})

    def open(self, path: str, *words: str, marks: str = "", least: int = 0) -> None:
        """Returns when the page shows all these words, and so many elements of the selector `marks`."""
        self.browser.open("about:blank")  # else only the address behind the # changes, and the settings are not read
        self.browser.open(f"http://127.0.0.1:5000/#{path}")
        self.wait(*words)
        if marks:
            count = "return document.querySelectorAll(arguments[0]).length"
            wait_until(lambda: self.browser.script(count, marks) >= least, SECONDS, f"{path} has {least} of {marks}")

    def wait(self, *words: str) -> None:
        for word in words:
            wait_until(lambda word=word: word in self.browser.script("return document.body.innerText"), SECONDS, f"the page shows {word}")

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.browser.script("document.querySelectorAll('.modebar').forEach(each => each.remove())")  # tools over the charts
        self.browser.picture(Path(PICTURES, f"{name}.png"))

    def _remember(self, settings: dict[str, str]) -> None:
        for name, value in settings.items():
            self.browser.script("localStorage.setItem(arguments[0], arguments[1])", name, value)
