"""How a traceback travels: its lines are plain data, and become a traceback that looks the same on arrival.

The new frames have no variables, and no code except an expression at the line's own position.
"""

from __future__ import annotations

import ast
import itertools
import sys
import types
from collections.abc import Iterator
from typing import NamedTuple

_END_LINES = 1000  # so many lines of each end of a longer traceback travel


class Line(NamedTuple):
    file: str
    function: str
    module: str
    number: int
    span: tuple[int, int, int] | None  # last line, columns: what Python underlines


def lines_of(trace: types.TracebackType | None) -> list[Line]:
    lines: list[Line] = []
    once: dict[Line, Line] = {}  # a recursion's lines are pickled once
    while trace is not None:
        line = _line(trace)
        lines.append(once.setdefault(line, line))
        trace = trace.tb_next
    return lines if len(lines) <= 2 * _END_LINES else [*lines[:_END_LINES], *lines[-_END_LINES:]]


def traceback_of(lines: list[Line]) -> types.TracebackType | None:
    # A frame keeps its calling frames alive, up to a generator's: so not those of our caller.
    return next(_in_generator(lines))


def below(trace: types.TracebackType | None, *packages: str) -> types.TracebackType | None:
    """The traceback without the leading frames of these packages."""
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] in packages:
        trace = trace.tb_next
    return trace


def cut(trace: types.TracebackType | None, module: str) -> None:
    """Cuts the traceback off before the first frame of this module, in place."""
    while trace is not None and trace.tb_next is not None:
        if trace.tb_next.tb_frame.f_globals.get("__name__") == module:
            trace.tb_next = None
        trace = trace.tb_next


def _in_generator(lines: list[Line]) -> Iterator[types.TracebackType | None]:
    yield _traceback_of(lines)


def _traceback_of(lines: list[Line]) -> types.TracebackType | None:
    trace: types.TracebackType | None = None
    one: types.TracebackType | None = None
    made: dict[Line, types.TracebackType] = {}
    try:
        for line in reversed(lines):
            if line not in made:
                made[line] = _made(line)
            one = made[line]
            trace = types.TracebackType(trace, one.tb_frame, one.tb_lasti, line.number)
        return trace
    finally:
        del trace, made, one  # else the frames would keep themselves alive


def _line(trace: types.TracebackType) -> Line:
    code, module = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__")
    number = trace.tb_lineno or code.co_firstlineno
    return Line(code.co_filename, code.co_name, module if isinstance(module, str) else "", number, _span(code, trace))


def _span(code: types.CodeType, trace: types.TracebackType) -> tuple[int, int, int] | None:
    if sys.version_info < (3, 11):  # which underlines nothing
        return None
    line, end, column, end_column = next(itertools.islice(code.co_positions(), trace.tb_lasti // 2, None), (None,) * 4)
    if line != trace.tb_lineno or end is None or column is None or end_column is None:
        return None
    return end, column, end_column


def _made(line: Line) -> types.TracebackType:
    end, column, end_column = line.span or (line.number, 0, 0)
    at = {"lineno": line.number, "end_lineno": end, "col_offset": column, "end_col_offset": end_column}
    name = ast.Name("__no_such_name", ast.Load(), **at)
    code = compile(ast.Module([ast.Expr(name, **at)], []), line.file, "exec").replace(co_name=line.function)
    if line.span is None:
        code = _without_columns(code, line.number)
    try:
        exec(code, {"__name__": line.module})
    except NameError as error:
        assert error.__traceback__ is not None and error.__traceback__.tb_next is not None
        return error.__traceback__.tb_next
    raise AssertionError("that name exists")


def _without_columns(code: types.CodeType, number: int) -> types.CodeType:
    """All of it at this line, with no column to underline. An instruction of -1 would say that too, but `executing`,
    which IPython's tracebacks use, looks for the instruction before that one without end.

    Source: Objects/locations.md of CPython 3.11. An entry is a byte 0x80 | kind << 3 | length - 1, and what its kind
    has; kind 13 has the distance to the line before, here 0.
    """
    if sys.version_info < (3, 11):
        return code
    length = len(code.co_code) // 2
    entries = (bytes((0x80 | 13 << 3 | min(8, length - start) - 1, 0)) for start in range(0, length, 8))
    return code.replace(co_firstlineno=number, co_linetable=b"".join(entries))
