"""Which worker a cell's line means, and whether an existing one will do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._common.byte_size import size
from .._engine.options import OF_THE_WAIT, Options
from .._engine.requirements import cuda_text

_AT_LEAST = ("gpus", "cpus", "memory_mib", "gpu_memory_mib", "cuda")
_LEAST_CPUS = 1  # of a worker whose line did not name CPUs


@dataclass(frozen=True)
class Target:
    """The options of a worker. `env` is the prefix of another environment. `on` names a second set of variables, beside
    the notebook's usual ones."""

    options: Options = field(default_factory=Options)
    env: str = ""
    on: str = ""

    def offers(self, wanted: Target, minutes_left: float | None) -> bool:
        """Whether a worker made for this line serves `wanted` too. minutes_left None: its lease has no end."""
        if wanted == self:
            return True
        if (wanted.env, wanted.on) != (self.env, self.on):
            return False
        mine, theirs = self.options.resources, wanted.options.resources
        if theirs.time_min and minutes_left is not None and minutes_left < theirs.time_min:
            return False
        defaults = Options().resources._asdict()
        for word, want in theirs._asdict().items():
            have = getattr(mine, word)
            if word in OF_THE_WAIT or word == "time_min" or want == defaults[word]:
                continue
            if word in _AT_LEAST:
                if max(have, _LEAST_CPUS if word == "cpus" else 0) < want:
                    return False
            elif have != want:
                return False
        return True

    def __str__(self) -> str:
        options = self.options.resources
        words: dict[str, Any] = {
            "GPU": f"{options.gpus} {options.gpu_type}".strip() if options.gpus else "", "CPUs": options.cpus or "",
            "memory": size(options.memory_mib * 2**20) if options.memory_mib else "",
            "minutes": options.time_min or "", "class": options.class_, "environment": self.env}
        if options.gpus:
            words["per GPU"] = size(options.gpu_memory_mib * 2**20) if options.gpu_memory_mib else ""
            words["CUDA"] = cuda_text(options.cuda)
        found = ", ".join(f"{value} {unit}" for unit, value in words.items() if value) or "no GPU"
        return f"{found} (--on {self.on})" if self.on else found
