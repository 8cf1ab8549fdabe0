"""Runs the blocks of code of a kernel's IR: branches, loops and the ways out of them.

The lanes of a frame go through code in lockstep. Where a branch divides them, each side runs in a frame of its own; every
way out of a piece of code (the end of a branch, continue, break, return) is an `Exit` of the lanes that took it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from cuda.tile._ir.control_flow_ops import Break, Continue, EndBranch, IfElse, Return

from .dtypes import Array
from .faults import NotEmulated, place
from .frame import Frame, take

Handler = Callable[[Frame, Any], None]

MOST_ITERATIONS = 300_000  # of a loop without a range
PATIENCE = 64  # iterations of such a loop after which a block lets others run, in case it waits for one


@dataclass(frozen=True)
class Exit:
    """Lanes that leave a piece of code in one way, with the values they carry and where these are undefined."""

    way: Literal["yield", "continue", "break", "return"]
    lanes: Array
    values: tuple[Any, ...] = ()
    origins: tuple[Any, ...] = ()


_WAYS: dict[type, tuple[Literal["yield", "continue", "break", "return"], str]] = {
    EndBranch: ("yield", "outputs"),
    Continue: ("continue", "values"),
    Break: ("break", "values"),
}


class Interpreter:
    """Runs IR with one handler for each class of operation that is no control flow."""

    def __init__(self, handlers: dict[type, Handler]) -> None:
        self._handlers = handlers

    def run(self, block: Iterable[Any], frame: Frame) -> list[Exit]:
        """Run a block of code for all lanes of the frame; gives the ways they left it."""
        exits: list[Exit] = []
        for operation in block:
            kind = type(operation)
            if (handler := self._handlers.get(kind)) is not None:
                handler(frame, operation)
                continue
            if kind in _WAYS:
                exits.append(_leave(frame, operation))
                return exits
            if kind is Return:
                exits.append(Exit("return", frame.lanes))
                return exits
            inner = self._branch(frame, operation) if kind is IfElse else self._loop(frame, operation)
            exits += [one for one in inner if one.way != "yield"]
            stayed = merged([one for one in inner if one.way == "yield"])
            if stayed is None:
                return exits
            frame = frame.narrowed(stayed.lanes)
            _define(frame, operation.result_vars, stayed)
        return exits

    def _branch(self, frame: Frame, operation: Any) -> list[Exit]:
        frame.run.use(frame.origins(operation.cond), operation.loc, "the condition of a branch", frame.blocks)
        condition = frame[operation.cond]
        if condition.all():
            return self.run(operation.then_block, frame)
        if not condition.any():
            return self.run(operation.else_block, frame)
        taken = frame.narrowed(frame.lanes[condition])
        other = frame.narrowed(frame.lanes[~condition])
        return self.run(operation.then_block, taken) + self.run(operation.else_block, other)

    def _loop(self, frame: Frame, operation: Any) -> list[Exit]:
        """The loop's way out is given as "yield": the lanes that go on after it, with what they carry."""
        exits: list[Exit] = []
        state: Exit | None = _entry(frame, operation)
        counter = _Range(frame, operation) if operation.is_for_loop else None
        turns = 0
        while state is not None:
            if counter is not None:
                done, state = counter.split(state)
                exits += done
                if state is None:
                    break
            else:
                turns += 1
                _look_up(frame, operation, turns)
            inner = frame.narrowed(state.lanes)
            _define(inner, operation.body_vars, state)
            if counter is not None:
                inner.set(operation.induction_var, counter.value(state.lanes))
            left = self.run(operation.body, inner)
            exits += [Exit("yield", one.lanes, one.values, one.origins) for one in left if one.way == "break"]
            exits += [one for one in left if one.way == "return"]
            state = merged([one for one in left if one.way == "continue"])
            if counter is not None:
                counter.advance()
        return exits


class _Range:
    """The counter of a `for` loop: signed, up to but without its stop, one for all lanes or one for each."""

    def __init__(self, frame: Frame, operation: Any) -> None:
        for part in (operation.start, operation.stop, operation.step):
            frame.run.use(frame.origins(part), operation.loc, "the bounds of a loop", frame.blocks)
        self._value, self._stop, self._step = (
            frame[part] for part in (operation.start, operation.stop, operation.step)
        )
        self._lanes = frame.lanes
        standing = self._step < 1
        if standing.any():
            lane = int(np.flatnonzero(standing)[0])
            text = f"the step of the loop is {int(self._step[lane])}; it must be positive, and no iteration is run"
            frame.run.report("assumption", operation.loc, text, block=int(frame.blocks[lane]))
            self._stop = np.where(standing, self._value, self._stop)

    def split(self, state: Exit) -> tuple[list[Exit], Exit | None]:
        """Which lanes are through, and which go on."""
        alive = self._of(self._value, state.lanes) < self._of(self._stop, state.lanes)
        if alive.all():
            return [], state
        if not alive.any():
            return [Exit("yield", state.lanes, state.values, state.origins)], None
        on, done = np.flatnonzero(alive), np.flatnonzero(~alive)
        return [_part(state, done, "yield")], _part(state, on, "continue")

    def value(self, lanes: Array) -> Array:
        return self._of(self._value, lanes)

    def advance(self) -> None:
        self._value = (self._value + self._step).astype(self._value.dtype)

    def _of(self, value: Array, lanes: Array) -> Array:
        if value.shape[0] == 1 or lanes.size == self._lanes.size:
            return value
        result: Array = value[np.searchsorted(self._lanes, lanes)]
        return result


def _part(state: Exit, positions: Array, way: Literal["yield", "continue"]) -> Exit:
    return Exit(
        way,
        state.lanes[positions],
        tuple(take(value, positions) for value in state.values),
        tuple(None if value is None else take(value, positions) for value in state.origins),
    )


def _entry(frame: Frame, operation: Any) -> Exit:
    values = tuple(frame[variable] for variable in operation.initial_values)
    origins = tuple(frame.origins(variable) for variable in operation.initial_values)
    return Exit("continue", frame.lanes, values, origins)


def _leave(frame: Frame, operation: Any) -> Exit:
    way, name = _WAYS[type(operation)]
    variables = getattr(operation, name)
    origins = tuple(frame.origins(variable) for variable in variables)
    return Exit(way, frame.lanes, tuple(frame[variable] for variable in variables), origins)


def _define(frame: Frame, variables: Sequence[Any], state: Exit) -> None:
    for variable, value, origins in zip(variables, state.values, state.origins, strict=True):
        frame.set(variable, value, origins)


def merged(exits: Sequence[Exit]) -> Exit | None:
    """Several exits of one way as one, its lanes ascending; None for none."""
    if len(exits) <= 1:
        return exits[0] if exits else None
    lanes = np.concatenate([one.lanes for one in exits])
    order = np.argsort(lanes, kind="stable")
    counts = [one.lanes.size for one in exits]
    columns = zip(*(one.values for one in exits), strict=True)
    shadows = zip(*(one.origins for one in exits), strict=True)
    values = tuple(_joined(column, counts, order) for column in columns)
    origins = tuple(
        _joined_origins(shadow, value, counts, order) for shadow, value in zip(shadows, values, strict=True)
    )
    return Exit(exits[0].way, lanes[order], values, origins)


def _joined(column: Sequence[Array], counts: Sequence[int], order: Array) -> Array:
    if all(value is column[0] for value in column) and column[0].shape[0] == 1:
        return column[0]
    full = [np.broadcast_to(value, (count, *value.shape[1:])) for value, count in zip(column, counts, strict=True)]
    result: Array = np.concatenate(full)[order]
    return result


def _joined_origins(shadow: Sequence[Array | None], value: Array, counts: Sequence[int], order: Array) -> Array | None:
    if all(part is None for part in shadow):
        return None
    none = np.zeros((1, *value.shape[1:]), np.uint8)
    return _joined([none if part is None else part for part in shadow], counts, order)


def _look_up(frame: Frame, operation: Any, turns: int) -> None:
    """From time to time, let other blocks run; give up on a loop that does not end."""
    if turns > MOST_ITERATIONS:
        file, line, _ = place(operation.loc)
        raise NotEmulated(
            f"{file}:{line}: the loop has not ended after {MOST_ITERATIONS} iterations; if it waits for another block, "
            "none ever does what it waits for."
        )
    if turns % PATIENCE == 0:
        frame.run.give_way()
