"""One request to MLflow's server, within limits of pounce's where MLflow itself would try again for minutes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

_CONNECTS_S = 1.5  # a packet that is lost is sent again after one second
_AT_ONCE_S = 0.5   # a connection that fails so soon may be one that the server had closed meanwhile
_REFUSED = (401, 403)
_LATER = (408, 429, 499)  # the same request may be answered later, as after 500 and above


class Outcome(Enum):
    SENT = "sent"
    AWAY = "away"        # no answer, or none of MLflow's
    REFUSED = "refused"  # for want of a name, a password or a token
    WRONG = "wrong"      # the request itself, which no later one changes


@dataclass
class Attempt:
    """What is known of the request that this thread makes."""

    answers_s: float
    is_made: bool = False
    status: int = 0  # of HTTP; 0: no answer

    def limits(self) -> dict[str, Any]:
        own = float(os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT") or self.answers_s)
        timeout = (min(_CONNECTS_S, own), min(self.answers_s, own))
        return {"max_retries": 0, "timeout": timeout, "raise_on_status": False}

    def failed(self) -> Outcome:
        if self.status in _REFUSED:
            return Outcome.REFUSED
        if not self.is_made or (400 <= self.status < 500 and self.status not in _LATER):
            return Outcome.WRONG
        return Outcome.AWAY


_present = threading.local()


def attempt(send: Callable[[], Any], answers_s: float, size: int = 0) -> tuple[Outcome, Any, int]:
    """What became of it, what it returned or raised, and the server's status. `size`: of the file that it sends; the
    limit is that for an answer, whatever is sent before."""
    outcome, value, status = _once(send, answers_s)
    if outcome is None:
        outcome, value, status = _once(send, answers_s, again=True)
    assert outcome is not None
    return outcome, value, status


def _once(send: Callable[[], Any], answers_s: float, again: bool = False) -> tuple[Outcome | None, Any, int]:
    """Without an outcome: a second attempt is worth it."""
    begun = time.monotonic()
    with _attempting(answers_s) as tried:
        try:
            return Outcome.SENT, send(), tried.status
        except Exception as error:
            failed = tried.failed()
            is_worth_it = failed is Outcome.AWAY and not tried.status and time.monotonic() - begun < _AT_ONCE_S
            return None if is_worth_it and not again else failed, error, tried.status


@contextmanager
def _attempting(answers_s: float) -> Iterator[Attempt]:
    _present.attempt = Attempt(answers_s)
    try:
        yield _present.attempt
    finally:
        _present.attempt = None


def within_limits(own: Callable[..., Any], is_renewed: Callable[[], bool], credentials: Callable[[str], Any]) -> Any:
    """MLflow's `http_request`: an attempt's limits hold, and a request that is refused is made again where
    `is_renewed` says that there is another token. `credentials`: those of a server, as they are now."""

    def http_request(host_creds: Any, endpoint: str, method: str, *args: Any, **kwargs: Any) -> Any:
        tried: Attempt | None = getattr(_present, "attempt", None)
        if tried is not None:
            kwargs |= tried.limits()
            tried.is_made = True
        response = own(host_creds, endpoint, method, *args, **kwargs)
        if response.status_code in _REFUSED and str(host_creds.host).startswith("http") and is_renewed():
            content: Any = kwargs.get("data")
            if hasattr(content, "seek"):
                content.seek(0)
            response = own(credentials(host_creds.host), endpoint, method, *args, **kwargs)
        if tried is not None:
            tried.status = response.status_code
        return response

    return http_request
