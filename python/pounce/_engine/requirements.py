"""The requirements on a worker's GPU and node: the words that people use, and what travels."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import _core
from ..errors import BadRequest

_AT_LEAST = re.compile(r"\s*(?:>=)?\s*(.*?)\s*")
_CUDA = re.compile(r"(\d{1,3})(?:\.(\d{1,2}))?")


def at_least(value: Any) -> Any:
    """">=20GB" is "20GB": all these are lower bounds."""
    match = _AT_LEAST.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else value


def gpu_type(value: Any) -> dict[str, Any]:
    """A name, or several, the preferred first."""
    names = value.split(",") if isinstance(value, str) else value
    if isinstance(names, (list, tuple)) and names and all(_is_word(name) for name in names):
        return {"gpu_type": ",".join(name.strip() for name in names)}
    raise BadRequest("gpu_type= takes a type such as 'a100', or several, the preferred first: ['a100', 'v100'], "
                     f"not {value!r}")


def cuda(value: Any) -> dict[str, Any]:
    """The version in CUDA's own numbers: ">=12.4" is 12040."""
    text = str(at_least(value)) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
    if match := _CUDA.fullmatch(text):
        return {"cuda": int(match[1]) * 1000 + int(match[2] or 0) * 10}
    raise BadRequest(f"cuda= takes the version that the code needs, such as '>=12' or '12.4', not {value!r}")


def cuda_text(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}" if version else ""


def nodes(value: Any) -> dict[str, Any]:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _core.MOST["nodes"]:
        return {"nodes": value}
    raise BadRequest(f"nodes= takes the number of nodes of one lease, 1 to {_core.MOST['nodes']}, not {value!r}")


def spread(value: Any) -> dict[str, Any]:
    return _yes_or_no("spread", value)


def pack(value: Any) -> dict[str, Any]:
    return _yes_or_no("pack", value)


def placement(words: dict[str, Any], now: str) -> dict[str, Any]:
    """What ``spread=`` and ``pack=`` mean together. False takes back only its own placement."""
    wanted = [word for word in ("spread", "pack") if words.get(word)]
    if len(wanted) > 1:
        raise BadRequest("spread=True and pack=True contradict each other", "Leave one of them out.")
    if wanted:
        return {"placement": wanted[0]}
    return {"placement": "any"} if words.get(now) is False else {}


def not_nodes(value: Any) -> dict[str, Any]:
    names = value if isinstance(value, (list, tuple)) else [value]
    if names and all(_is_name(name) for name in names):
        return {"not_nodes": ",".join(name.strip() for name in names)}
    raise BadRequest(f"not_nodes= takes names of nodes, such as 'g1', 'g[3-5]' or ['g1', 'g2'], not {value!r}")


def name_of(field: str, what: str) -> Callable[[Any], dict[str, Any]]:
    """The parser of a keyword that takes one name and travels under its own."""
    return lambda value: {field: _name(field, what, value)}


def slurm(value: Any) -> dict[str, Any]:
    """Options of sbatch, by their names without leading dashes."""
    if not isinstance(value, dict) or not all(isinstance(name, str) and name.strip("-") for name in value):
        raise BadRequest(f"slurm= takes options of sbatch, such as {{'constraint': 'nvlink'}}, not {value!r}")
    options = ((name.strip("-").replace("_", "-"), _text(name, one)) for name, one in value.items())
    return {"slurm": dict(sorted(options))}


def _text(name: str, value: Any) -> str:
    if value is True:
        return "yes"
    if isinstance(value, (str, int)) and value is not False:
        return str(value)
    raise BadRequest(f"slurm= takes texts and numbers; {name} is {value!r}")


def _yes_or_no(word: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise BadRequest(f"{word}= takes True or False, not {value!r}")
    return {}


def _name(word: str, what: str, value: Any) -> str:
    if not _is_word(value):
        raise BadRequest(f"{word}= takes the name {what}, not {value!r}")
    return str(value).strip()


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not re.search(r"\s", value.strip())


def _is_word(value: Any) -> bool:
    return _is_name(value) and not re.search(r"[,:\[\]]", value)
