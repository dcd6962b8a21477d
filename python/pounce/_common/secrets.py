"""Which variables may hold a secret. These are sent over the encrypted connection alone, and never written down."""

from __future__ import annotations

import re

_NAME = re.compile(r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|AUTH|PRIVATE|TRACKING_USERNAME"
                   r"|API_?KEY|ACCESS_?KEY|_KEY$|_KEY_|^KEY$", re.IGNORECASE)
ROWS = ("environment", "mlflow")  # of the settings: those whose options may be secrets
_IN_AN_ADDRESS = re.compile(r"://[^/@\s]*:[^/@\s]+@")  # https://user:password@host


def is_secret(name: str, value: object) -> bool:
    return bool(_NAME.search(name)) or (isinstance(value, str) and bool(_IN_AN_ADDRESS.search(value)))
