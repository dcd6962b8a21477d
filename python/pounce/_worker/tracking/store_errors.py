"""What an error of an object store's client means: the store is away, refuses the keys, or the upload itself is wrong.

Clients of several libraries come here, and none of them is imported: their classes are known by name.
"""

from __future__ import annotations

from typing import Any

from .attempts import Outcome

# Of botocore, requests, urllib3, azure.core and google.api_core: no answer.
_NO_ANSWER = frozenset((
    "HTTPClientError", "EndpointConnectionError", "ConnectionError", "ConnectTimeoutError", "ReadTimeoutError",
    "ConnectionClosedError", "MaxRetryError", "ServiceRequestError", "ServiceResponseError", "TransportError",
    "RetryError", "Timeout", "TimeoutError", "gaierror"))
_OLD_KEYS = frozenset((
    "ExpiredToken", "ExpiredTokenException", "InvalidToken", "InvalidAccessKeyId", "TokenRefreshRequired",
    "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AuthenticationFailed"))
_NO_KEYS = frozenset(("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"))
_LATER = (408, 425, 429)
_MOST_CAUSES = 10


def outcome_of(error: BaseException) -> tuple[Outcome, int]:
    """And the store's status, 0 for none."""
    for one in _causes(error):
        names = {kind.__name__ for kind in type(one).__mro__}
        status, code = _answer(one)
        if code in _OLD_KEYS or status == 401 or names & _NO_KEYS:
            return Outcome.REFUSED, status
        if status >= 500 or status in _LATER or code == "SlowDown":
            return Outcome.AWAY, status
        if status:
            return Outcome.WRONG, status
        if names & _NO_ANSWER:
            return Outcome.AWAY, 0
    return Outcome.WRONG, 0


def _causes(error: BaseException | None) -> list[BaseException]:
    """The error, and those behind it."""
    found: list[BaseException] = []
    while error is not None and len(found) < _MOST_CAUSES:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _answer(error: Any) -> tuple[int, str]:
    """The status of HTTP and the store's word for it."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore's
        code = str(response.get("Error", {}).get("Code", ""))
        return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)), code
    status = getattr(error, "status_code", None) or getattr(error, "code", None) or getattr(response, "status_code", 0)
    return (status if isinstance(status, int) else 0), str(getattr(error, "error_code", ""))
