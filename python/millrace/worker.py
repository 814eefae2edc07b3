"""A worker of a group, for numpy."""

from __future__ import annotations

import enum
import math
import mmap
import os
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from . import state
from .connection import VERSION, AgentError, AgentLost, Connection
from .order import order

_TENSORS_A_MESSAGE = 100


class Outcome(enum.Enum):
    """What became of a step."""

    APPLY = "apply"
    """The mean is agreed on: update the parameters with it."""
    SKIP = "skip"
    """There is no mean, as it is not finite or nobody had samples: nobody updates."""
    VOID = "void"
    """This worker was cut off in this step; the next `begin` restores its state."""


@dataclass(frozen=True)
class Result:
    """What the whole group agreed on. It is true if the mean is to be applied."""

    step: int
    outcome: Outcome
    weight: int  # samples of all workers that count
    loss: float  # mean over these
    correct: int
    culprit: str  # the worker whose numbers were not finite, or ""
    members: tuple[str, ...]
    view: int
    epoch_ended: bool

    def __bool__(self) -> bool:
        return self.outcome is Outcome.APPLY


@dataclass
class Step:
    """One turn of the training loop.

    As a context manager it commits at the end of its block, unless the block raised.
    """

    number: int
    epoch: int
    ranges: tuple[tuple[int, int], ...]  # positions of this worker's samples in the epoch's order
    weight: int  # their number
    offset: int  # samples of the step's batch that come before them
    batch: int  # samples of the whole group
    rate_scale: float  # factor on the learning rate that goes with the size of the batch
    leader: bool  # one worker of the group is: it does what one should do
    members: tuple[str, ...]
    view: int
    result: Result | None = None
    loss: float | None = None
    _worker: Worker = field(repr=False, default=None)  # type: ignore[assignment]

    @property
    def positions(self) -> np.ndarray:
        """This worker's positions in the epoch's order, int64[weight]."""
        if not self.ranges:
            return np.empty(0, np.int64)
        return np.concatenate([np.arange(lo, hi, dtype=np.int64) for lo, hi in self.ranges])

    @property
    def indices(self) -> np.ndarray:
        """This worker's samples: the order of (seed, epoch) at `positions`, int64[weight]."""
        return self._worker._order(self.epoch)[self.positions]

    def ready(self, lo: int, hi: int, samples: int | None = None) -> None:
        """Says that the gradient's elements lo up to hi are complete, so that their reduction can begin."""
        self._worker._ready(self, lo, hi, samples)

    def commit(self, **report: Any) -> Result:
        """Waits until the group has agreed on the step; see `Worker.commit`."""
        return self._worker.commit(**report)

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        if kind is None and self.result is None:
            self._worker._finish(self)


class Worker:
    """One process's membership in a group.

    elements: length of the gradient, which is the same on all workers.
    tensors: names and elements (lo, hi) of its parts, to name one that differs.
    samples, batch: samples of an epoch, and of a step of the whole group (with per_worker: of each
        worker). The group deals them out, each exactly once an epoch. Without them each commit says
        how many samples the gradient is of.
    base: the batch that the learning rate was chosen for; Step.rate_scale is the group's over it.
    seed: of the order of samples.
    save, restore: give and take the state (nested dicts and lists of numbers and arrays) for
        workers that join; save must return the same on all workers after the same step.
    agent: address of the agent, unix:PATH; as `millrace agent` set it in MILLRACE_AGENT.
    """

    gradients: np.ndarray
    """float32[elements] in memory that the agent maps, too: this worker's mean gradient until commit,
    the mean over all workers after it."""

    def __init__(
        self,
        elements: int,
        *,
        tensors: Sequence[tuple[str, int, int]] = (),
        samples: int = 0,
        batch: int = 0,
        per_worker: bool = False,
        base: int = 0,
        seed: int = 0,
        save: Callable[[], Any] | None = None,
        restore: Callable[[Any], None] | None = None,
        agent: str | None = None,
    ) -> None:
        if (save is None) != (restore is None):
            raise ValueError("a state needs both save and restore")
        self.samples, self.seed = samples, seed
        self._save, self._restore = save, restore
        self._step: Step | None = None
        self._known: tuple[int, np.ndarray] | None = None
        self._closed = False
        self._connection = Connection(agent)
        try:
            self._hello(elements, tensors, batch, per_worker, base)
        except BaseException:
            self._connection.close()
            raise

    def _hello(
        self, elements: int, tensors: Sequence[tuple[str, int, int]], batch: int, per_worker: bool, base: int
    ) -> None:
        for at in range(0, len(tensors), _TENSORS_A_MESSAGE):
            part = tensors[at : at + _TENSORS_A_MESSAGE]
            self._connection.send("tensors", tensors=[{"name": n, "lo": lo, "hi": hi} for n, lo, hi in part])
        self._connection.send(
            "hello",
            version=VERSION,
            elements=elements,
            epoch_samples=self.samples,
            batch=batch,
            per_worker=per_worker,
            base=base,
            state=self._save is not None,
        )
        message, fd = self._connection.receive()
        if message["type"] != "started" or fd is None:
            raise AgentError("protocol", f"the agent answers hello by {message['type']}")
        try:
            self._memory = mmap.mmap(fd, 4 * elements)
        finally:
            os.close(fd)
        self.name: str = message["name"]
        self.gradients = np.frombuffer(self._memory, np.float32, elements)

    def broadcast(self) -> None:
        """Puts what `gradients` of the first founder holds into that of all workers.

        It is for the start: all founders call it before their first `begin`. A newcomer keeps what it has.
        """
        self._connection.send("broadcast")
        self._answer("broadcast")

    def begin(self) -> Step | None:
        """Waits for the next step. None: this worker has left the group.

        The first call waits for the other workers; that of a newcomer restores its state first.
        """
        if self._step is not None:
            raise RuntimeError(f"step {self._step.number} is not committed")
        self._connection.send("begin")
        message = self._answer("step", "left")
        if message["type"] == "left":
            return None
        self._step = Step(
            number=message["step"],
            epoch=message["epoch"],
            ranges=tuple((lo, hi) for lo, hi in message.get("ranges", ())),
            weight=message["weight"],
            offset=message.get("offset", 0),
            batch=message.get("batch", 0),
            rate_scale=message.get("rate_scale", 1.0),
            leader=message.get("leader", False),
            members=tuple(message.get("members", ())),
            view=message.get("view", 0),
            _worker=self,
        )
        return self._step

    def commit(
        self,
        *,
        loss: float | None = None,
        samples: int | None = None,
        norm2: float = 0.0,
        correct: int = 0,
        hash: int = 0,
        rate: float = 0.0,
    ) -> Result:
        """Hands the gradient in and waits until the group has agreed on the step.

        loss: mean over this worker's samples. samples: how many the gradient is of, where the group
        does not deal them out. hash: of the parameters before the step; workers whose hashes differ get
        an AgentError of the kind "diverged".
        """
        step = self._step
        if step is None:
            raise RuntimeError("commit without a step")
        if samples is None:
            samples = step.weight
            if self.samples == 0:
                raise ValueError("say how many samples the gradient is of")
        loss = 0.0 if loss is None or samples == 0 else loss
        finite = math.isfinite(loss) and math.isfinite(norm2)
        self._connection.send(
            "commit",
            samples=samples,
            loss=loss if finite else 0.0,
            norm2=norm2 if finite else 0.0,
            non_finite=not finite,
            correct=correct,
            hash=hash,
            rate=rate,
        )
        message = self._answer("result")
        self._step = None
        step.result = Result(
            step=message["step"],
            outcome=Outcome(message["outcome"]),
            weight=message["weight"],
            loss=message.get("loss", 0.0),
            correct=message.get("correct", 0),
            culprit=message.get("culprit", ""),
            members=tuple(message.get("members", ())),
            view=message.get("view", 0),
            epoch_ended=message.get("epoch_ended", False),
        )
        return step.result

    def steps(self, epochs: int | None = None, steps: int | None = None) -> Iterator[Step]:
        """Yields steps to be committed, until so many epochs or steps of the group are over, or it has left."""
        while True:
            step = self.begin()
            if step is None:
                return
            # All workers see the same numbers, so all end at the same step.
            if (epochs is not None and step.epoch >= epochs) or (steps is not None and step.number > steps):
                return
            yield step
            if self._step is step:
                raise RuntimeError(f"step {step.number} was not committed")

    def leave(self) -> None:
        """Leaves the group in good order: the next `begin` returns None."""
        self._connection.send("leave")

    def status(self) -> str:
        """Says in words what the worker does and whom it waits for."""
        self._connection.send("status")
        return self._answer("status")["text"]

    def close(self) -> None:
        """Ends the membership. After the last step that is good order, before it is a loss for the others."""
        if self._closed:
            return
        self._closed = True
        try:
            self._connection.send("bye")
        except AgentError:
            pass
        self._connection.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        if kind is not None:  # without bye: the others go on at once
            self._closed = True
            self._connection.close()
        self.close()

    def _finish(self, step: Step) -> None:
        """Commits a step at the end of its block."""
        self.commit(loss=step.loss)

    def _ready(self, step: Step, lo: int, hi: int, samples: int | None) -> None:
        if step is not self._step:
            raise RuntimeError(f"step {step.number} is over")
        self._connection.send("ready", lo=lo, hi=hi, samples=step.weight if samples is None else samples)

    def _order(self, epoch: int) -> np.ndarray:
        if self._known is None or self._known[0] != epoch:
            self._known = (epoch, order(self.seed, epoch, self.samples))
        return self._known[1]

    def _answer(self, *kinds: str) -> dict[str, Any]:
        """Waits for an answer, and gives or takes the state meanwhile when the agent asks for that."""
        while True:
            message, fd = self._connection.receive()
            try:
                if message["type"] == "save":
                    self._give_state()
                elif message["type"] == "restore":
                    self._take_state(message, fd)
                elif message["type"] in kinds:
                    return message
                else:
                    raise AgentError("protocol", f"the agent says {message['type']} in place of {' or '.join(kinds)}")
            finally:
                if fd is not None:
                    os.close(fd)

    def _give_state(self) -> None:
        try:
            assert self._save is not None
            head, arrays, size = state.pack(self._save())
            fd = os.memfd_create("millrace-state", os.MFD_CLOEXEC)
        except BaseException as e:
            self._connection.send("failed", text=f"save: {type(e).__name__}: {e}")
            raise
        try:
            os.ftruncate(fd, size)
            with mmap.mmap(fd, size) as memory:
                memory[: len(head)] = head
                for offset, data in arrays:
                    np.frombuffer(memory, np.uint8, data.nbytes, offset)[:] = data
            self._connection.send("saved", fd, size=size)
        finally:
            os.close(fd)

    def _take_state(self, message: dict[str, Any], fd: int | None) -> None:
        try:
            assert self._restore is not None and fd is not None
            memory = mmap.mmap(fd, message["size"])  # its views keep it as long as they are used
            self._restore(state.unpack(memoryview(memory)))
        except BaseException as e:
            self._connection.send("failed", text=f"restore: {type(e).__name__}: {e}")
            raise
        self._connection.send("restored")


__all__ = ["AgentError", "AgentLost", "Outcome", "Result", "Step", "Worker"]
