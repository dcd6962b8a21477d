"""A page's side of widgets: it sends comm messages to a kernel, and takes what comes back for each."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from kernel import SECONDS, Notebook, Shown


@dataclass
class Page:
    """Of one kernel."""

    notebook: Notebook
    comms: dict[str, str] = field(default_factory=dict)  # the id of each named widget
    _numbers: dict[str, int] = field(default_factory=dict)  # of comms, as they were opened since number_anew()
    _shown: dict[str, Shown] = field(default_factory=dict)  # by the message, what came for it
    _ended: set[str] = field(default_factory=set)
    _subshell: str = ""

    # ---- cells ----

    def cell(self, source: str, **named: str) -> Shown:
        """Runs it; `named` gives the widgets of these models names, such as slider="IntSliderModel"."""
        return self.ended(self.begin(source), **named)

    def begin(self, source: str) -> str:
        return self.notebook.client.execute(source)

    # ---- events ----

    def send(self, name: str, data: dict, beside: bool = False, buffers: list[bytes] | None = None) -> str:
        """A message to a widget. `beside`: on a subshell, as JupyterLab sends it."""
        session, channel = self.notebook.client.session, self.notebook.client.shell_channel
        message = session.msg("comm_msg", {"comm_id": self.comms[name], "data": data})
        if beside:
            message["header"]["subshell_id"] = self.subshell()
        session.send(channel.socket, message, buffers=buffers)
        return message["header"]["msg_id"]

    def move(self, name: str, value: Any, beside: bool = False) -> str:
        return self.send(name, {"method": "update", "state": {"value": value}, "buffer_paths": []}, beside)

    def click(self, name: str, beside: bool = False) -> str:
        return self.send(name, {"method": "custom", "content": {"event": "click"}}, beside)

    def subshell(self) -> str:
        if not self._subshell:
            client = self.notebook.client
            request = client.session.msg("create_subshell_request")
            client.control_channel.send(request)
            while (reply := client.control_channel.get_msg(timeout=SECONDS))["parent_header"]["msg_id"] != request["header"]["msg_id"]:
                continue
            self._subshell = reply["content"]["subshell_id"]
        return self._subshell

    def all_have_arrived(self) -> None:
        """The kernel has read all messages sent so far: it takes them in order, and answers this one beside what it does."""
        client = self.notebook.client
        request = client.session.msg("kernel_info_request")
        request["header"]["subshell_id"] = self.subshell()
        client.shell_channel.send(request)
        while client.get_shell_msg(timeout=SECONDS)["parent_header"].get("msg_id") != request["header"]["msg_id"]:
            continue

    # ---- what comes back ----

    def ended(self, message: str, **named: str) -> Shown:
        """All that it shows until it ends."""
        self._until(lambda: message in self._ended)
        shown = self._shown.setdefault(message, Shown())
        for name, model in named.items():
            opened = [each for each in shown.of("comm_open") if each["data"]["state"].get("_model_name") == model]
            self.comms[name] = opened[-1]["comm_id"]
        return shown

    def until(self, message: str, condition) -> Shown:
        self._until(lambda: condition(self._shown.setdefault(message, Shown())))
        return self._shown[message]

    def _until(self, condition) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            self._take(self.notebook.client.get_iopub_msg(timeout=max(0, deadline - time.monotonic())))

    def _take(self, message: dict) -> None:
        parent = message["parent_header"].get("msg_id", "")
        self._shown.setdefault(parent, Shown()).messages.append(message)
        if message["msg_type"] == "comm_open":
            self._numbers.setdefault(message["content"]["comm_id"], len(self._numbers))
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            self._ended.add(parent)

    def number_anew(self) -> None:
        """What follows is compared with another kernel, where another number of comms was opened before."""
        self._numbers.clear()

    def _name_of(self, comm: str) -> str | None:
        number = self._numbers.get(comm)
        return next((name for name, known in self.comms.items() if known == comm), None if number is None else f"comm {number}")

    def seen(self, message: str) -> list[tuple]:
        """What it shows, as it is in each kernel: comms by names or numbers, tracebacks by their last line."""
        seen: list[tuple] = []
        for each in self.ended(message).messages:
            kind, content = each["msg_type"], each["content"]
            if kind == "stream" and seen and seen[-1][:2] == (kind, content["name"]):
                seen[-1] = (*seen[-1][:2], seen[-1][2] + content["text"])
            elif kind == "stream":
                seen.append((kind, content["name"], content["text"]))
            elif kind == "error":
                seen.append((kind, content["ename"], content["evalue"], content["traceback"][-1]))
            elif kind.startswith("comm_"):
                seen.append((kind, self._name_of(content["comm_id"]), self._plain(content["data"], message)))
            elif kind not in ("status", "execute_input"):
                seen.append((kind, self._plain({key: content[key] for key in content if key in ("data", "wait")}, message)))
        return [each for each in map(_without_own_lines, seen) if each]

    def _plain(self, value: Any, message: str) -> Any:
        if isinstance(value, dict):
            return {key: self._plain(each, message) for key, each in value.items()}
        if isinstance(value, list):
            return [self._plain(each, message) for each in value]
        if value == message:
            return "this message"
        if isinstance(value, str) and value.startswith("IPY_MODEL_"):
            return self._name_of(value.removeprefix("IPY_MODEL_")) or "an earlier comm"
        return value


def _without_own_lines(seen: tuple) -> tuple:
    """A line in grey may come behind any cell."""
    if seen[0] != "stream":
        return seen
    text = "".join(line for line in seen[2].splitlines(True) if not line.startswith(("pounce: ", "\x1b[90mpounce: ")))
    return (*seen[:2], text) if text else ()
