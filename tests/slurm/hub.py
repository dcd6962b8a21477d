"""A JupyterHub on a login node, with JupyterLab servers that its culler stops."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

from browser import BrowserError
from lab import SECONDS, SITE, Lab
from login_node import Running, User, wait_until

FRONT_ENDS = Path("/opt/pounce-front-ends/bin")
# What writes a notebook together is installed there too, and does not speak through this proxy.
ALONE = {"ServerApp": {"jpserver_extensions": {"jupyter_server_ydoc": False}}}
ALONE_ON_THE_PAGE = {"disabledExtensions": {"@jupyter/collaboration-extension": True, "@jupyter/docprovider-extension": True}}
TOKEN = "culler-of-the-test"
# One user, without a password, whose server is a process beside the hub. The proxy is the one in Python: the usual one needs node.
HUB = """
c.JupyterHub.bind_url = "http://:8888"
c.JupyterHub.cookie_secret_file, c.JupyterHub.db_url = "{folder}/cookie", "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.authenticator_class, c.JupyterHub.spawner_class = "dummy", "simple"
c.ConfigurableHTTPProxy.command = "{programs}/configurable-http-proxy"
c.ConfigurableHTTPProxy.pid_file = "{folder}/proxy.pid"
c.Authenticator.allowed_users, c.Authenticator.admin_users = {{"{name}"}}, set()
c.SimpleLocalProcessSpawner.home_dir_template = "{home}"
c.Spawner.cmd, c.Spawner.notebook_dir = ["{programs}/jupyterhub-singleuser"], "{folder}"
c.Spawner.environment = {environment}
c.Spawner.env_keep = ["PATH", "LANG", "SLURM_CONF", "POUNCE_CONFIG", "POUNCE_CLUSTER_ID"]
c.Spawner.start_timeout = c.Spawner.http_timeout = {seconds}
c.JupyterHub.services = [{{"name": "culler", "api_token": "{token}"}}]
c.JupyterHub.load_roles = [{{"name": "culler", "services": ["culler"],
                             "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"]}}]
"""


class HubLab(Lab):
    """The notebook in a JupyterLab that a hub has started for its user, who signs in."""

    listens = "JupyterHub is now running"

    def open(self, name: str = "training") -> None:
        self.browser.open(f"{SITE}/hub/login?next=/hub/spawn")
        wait_until(lambda: self._sees("return document.querySelector('#username_input, #login_submit') != null"), SECONDS, "the hub asks who it is")
        self.browser.type_into("#username_input", str(self.user.user))
        self.browser.click("#login_submit")
        wait_until(lambda: self._sees("return location.pathname.startsWith('/user/')"), SECONDS, "the hub has started the server")
        self.open_again(name)

    def open_again(self, name: str = "training") -> None:
        """As one who is signed in, and whose server runs."""
        self.browser.open(f"{SITE}/user/{self.user.user}/{self.page}/{name}.ipynb")
        self._wait_for_kernel()

    def start_again(self) -> None:
        """As one who is signed in, and whose server the hub has stopped."""
        self.browser.open(f"{SITE}/hub/spawn")
        wait_until(lambda: self._sees("return location.pathname.startsWith('/user/')"), SECONDS, "the hub has started the server")
        self.open_again()

    def leave(self) -> None:
        self.browser.open("about:blank")

    def culled(self) -> Running:
        """Runs the culler until it has stopped the server. A second without a request is long enough for it."""
        culler = self.user.start([str(FRONT_ENDS / "jupyterhub-idle-culler"), f"--url={SITE}/hub/api", "--timeout=1", "--cull-every=1"],
                                 JUPYTERHUB_API_TOKEN=TOKEN)
        wait_until(lambda: not self.servers(), SECONDS, f"the culler stops the server: {culler.output}")
        culler.process.terminate()
        return culler

    def servers(self) -> dict:
        """The user's servers, as the hub tells the culler. One that is being stopped is still there."""
        request = urllib.request.Request(f"http://{self.user.node.address}:8888/hub/api/users/{self.user.user}",
                                         headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["servers"]

    def _sees(self, source: str):
        try:
            return self.browser.script(source)
        except BrowserError:  # the page is still loading
            return False

    def _prepare(self) -> None:
        super()._prepare()
        (self.folder / "config" / "jupyter_server_config.json").write_text(json.dumps(ALONE))
        (self.folder / "config" / "labconfig" / "page_config.json").write_text(json.dumps(ALONE_ON_THE_PAGE))

    def _served(self, user: User) -> Running:
        config = self.folder / "hub.py"
        home = user.run("sh", "-c", "echo $HOME").strip()
        config.write_text(HUB.format(folder=self.folder, programs=FRONT_ENDS, name=user.user, home=home, environment=self.places,
                                     seconds=SECONDS, token=TOKEN))
        path = f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return user.start([str(FRONT_ENDS / "jupyterhub"), f"--config={config}"], PATH=path)
