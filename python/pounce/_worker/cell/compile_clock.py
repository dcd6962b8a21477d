"""How long ``torch.compile`` has compiled in this process, as torch itself measures it."""

from __future__ import annotations

import sys

_MODULE, _METRICS = "torch._dynamo.utils", "compilation_time_metrics"
# The outermost of torch's own parts, of its versions since 2.0: frames, and what compiles during backward().
_OUTERMOST = ("_compile.compile_inner", "_compile.<locals>.compile_inner", "entire_frame_compile",
              "entire_backward_compile")


def compiled_s() -> float:
    """0.0 where nothing was compiled, or torch does not say it."""
    metrics = getattr(sys.modules.get(_MODULE), _METRICS, None)
    if not isinstance(metrics, dict):
        return 0.0
    frames = next((metrics[name] for name in _OUTERMOST[:3] if name in metrics), ())
    return float(sum(frames) + sum(metrics.get(_OUTERMOST[3], ())))
