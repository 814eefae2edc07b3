"""A PyTorch model and its optimizer as a worker of a group.

    from millrace.torch import Worker

    with Worker(model, optimizer, samples=len(data), batch=64) as worker:
        for step in worker.steps(epochs=3):
            x, y = data[step.indices]
            loss = loss_of(model(x), y)       # the mean over the step's samples
            optimizer.zero_grad()
            loss.backward()
            if worker.allreduce_grads(loss=loss):
                optimizer.step()

Where another worker dies, the step is reduced again from what the others have, and they go on.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Iterator, Mapping, Protocol

import numpy as np
import torch

from . import worker as base
from .state import Raw

_HASH_EVERY = 100  # steps between two comparisons of the workers' parameters
_READY_BYTES = 1 << 20  # of gradients are told of at once
_EXACT = 1 << 22  # whole numbers below survive the mean in float32


class Stateful(Protocol):
    """What has a state beside model and optimizer, such as a learning-rate schedule."""

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> Any: ...


class Worker(base.Worker):
    """One process's membership in a group that trains a model.

    The gradient vector has the gradients of all parameters that need one, the last first, as they
    become complete in that order; then the model's buffers (running means and the like), of which all
    workers go on with the mean. Gradients of float32 parameters on the CPU are views of the shared
    memory; others are copied.

    overlap: gradients of parameters on the CPU are reduced as the backward pass completes them, where the
        group deals samples out. Then a step has one backward pass, and its gradients stay as they are
        until allreduce_grads; what breaks that is found and raises a RuntimeError. Set it to False to sum
        several passes up, or to change gradients before the mean is taken.
    also: more that newcomers need, by name, such as {"schedule": scheduler}.
    The other arguments are those of `millrace.Worker`.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        samples: int = 0,
        batch: int = 0,
        per_worker: bool = False,
        base: int = 0,
        seed: int = 0,
        also: Mapping[str, Stateful] | None = None,
        overlap: bool = True,
        agent: str | None = None,
    ) -> None:
        self.model, self.optimizer = model, optimizer
        self._also = dict(also or {})
        self._params = [(n, p) for n, p in model.named_parameters() if p.requires_grad][::-1]
        self._buffers = list(model.named_buffers())
        tensors, at = [], 0
        for name, t in self._params + self._buffers:
            tensors.append((name, at, at + t.numel()))
            at += t.numel()
        if at == 0:
            raise ValueError("the model has no parameters to train")
        super().__init__(
            at,
            tensors=tensors,
            samples=samples,
            batch=batch,
            per_worker=per_worker,
            base=base,
            seed=seed,
            save=self._state,
            restore=self._adopt,
            agent=agent,
        )
        views = [
            # each a tensor of its own, with a count of its own changes
            torch.from_numpy(self.gradients[lo:hi]).view(t.shape)
            for (_, lo, hi), (_, t) in zip(tensors, self._params + self._buffers)
        ]
        self._grads = views[: len(self._params)]
        self._tails = views[len(self._params) :]
        self._before: list[torch.Tensor] = []
        self._told: dict[int, tuple[torch.Tensor, int]] = {}  # by parameter: its gradient, and that one's version
        self._untold: list[tuple[int, int]] = []  # elements that are complete, but not told of yet
        self._hooks: list[torch.utils.hooks.RemovableHandle] = []
        if overlap and samples > 0:
            for i, (_, p) in enumerate(self._params):
                if p.device.type == "cpu":
                    hook = functools.partial(self._complete, i, *tensors[i][1:])
                    self._hooks.append(p.register_post_accumulate_grad_hook(hook))

    def broadcast_parameters(self) -> None:
        """Makes parameters and buffers of all workers those of the first, before the first step.

        A newcomer keeps its own until its first step restores the group's state.
        """
        with torch.no_grad():
            for (_, t), view in zip(self._params + self._buffers, self._grads + self._tails):
                view.copy_(t)
            self.broadcast()
            for (_, t), view in zip(self._params + self._buffers, self._grads + self._tails):
                t.copy_(view if t.is_floating_point() else view.round())

    def begin(self) -> base.Step | None:
        step = super().begin()
        if step is not None:
            self._before = [b.clone() for _, b in self._buffers]
            self._told.clear()
            self._untold.clear()
            self.gradients.fill(0)
            for (_, p), view in zip(self._params, self._grads):
                p.grad = view if _shares(p) else None
        return step

    def allreduce_grads(
        self,
        model: torch.nn.Module | None = None,
        *,
        loss: torch.Tensor | float | None = None,
        samples: int | None = None,
        correct: int = 0,
    ) -> base.Result:
        """Replaces the gradients by the mean over all workers and commits the step.

        The result is true if the gradients are to be applied. The gradients must be those of the mean
        loss over this worker's samples.
        """
        if model is not None and model is not self.model:
            raise ValueError("this worker trains another model")
        step = self._step
        if step is None:
            raise RuntimeError("allreduce_grads without a step")
        if self._told and samples is not None and samples != step.weight:
            raise ValueError(f"the group reduces a gradient of {step.weight} samples, not {samples}")
        nothing = (step.weight if samples is None else samples) == 0
        if nothing:
            self.gradients.fill(0)
        else:
            self._gather()
        result = self.commit(
            loss=None if loss is None or nothing else _number(loss),
            samples=samples,
            correct=correct,
            hash=self._hash() if step.number % _HASH_EVERY == 1 else 0,
            rate=self.optimizer.param_groups[0]["lr"] * step.rate_scale,
        )
        self._spread(result)
        return result

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
        super().close()

    def sampler(self, epochs: int | None = None, steps: int | None = None) -> Iterator[list[int]]:
        """Yields the samples of each step: the batch_sampler of a DataLoader without workers.

        Each must be committed (`allreduce_grads`) before the next is asked for. Steps without samples
        for this worker are taken here.
        """
        for step in self.steps(epochs, steps):
            if step.weight == 0:
                with step:
                    continue
            yield step.indices.tolist()

    def _finish(self, step: base.Step) -> None:
        """Commits a step at the end of its block, and applies the mean."""
        if self.allreduce_grads(loss=step.loss):
            rates = [group["lr"] for group in self.optimizer.param_groups]
            for group in self.optimizer.param_groups:
                group["lr"] *= step.rate_scale
            self.optimizer.step()
            for group, rate in zip(self.optimizer.param_groups, rates):
                group["lr"] = rate

    def _complete(self, i: int, lo: int, hi: int, p: torch.Tensor) -> None:
        """Takes a gradient that a backward pass has completed, and tells the agent of those that make 1 MiB."""
        step = self._step
        if step is None or step.weight == 0:
            return
        if i in self._told:
            raise RuntimeError(
                f"the gradient of {self._params[i][0]} comes a second time in step {step.number}, when its reduction "
                "has begun: Worker(..., overlap=False) lets several backward passes add up"
            )
        view = self._grads[i]
        with torch.no_grad():
            _bring(p, view)
        if _shares(p):
            p.grad = view
        self._told[i] = (p.grad, p.grad._version)
        if self._untold and self._untold[-1][0] == hi:
            hi = self._untold.pop()[1]
        elif self._untold and self._untold[-1][1] == lo:
            lo = self._untold.pop()[0]
        self._untold.append((lo, hi))
        if 4 * sum(hi - lo for lo, hi in self._untold) >= _READY_BYTES:
            for lo, hi in self._untold:
                self._ready(step, lo, hi, None)
            self._untold.clear()

    def _gather(self) -> None:
        """Brings into the shared memory what is not there yet: gradients that are no views, and the buffers."""
        with torch.no_grad():
            for i, ((name, p), view) in enumerate(zip(self._params, self._grads)):
                if i not in self._told:
                    _bring(p, view)
                elif p.grad is not self._told[i][0] or p.grad._version != self._told[i][1]:
                    raise RuntimeError(
                        f"the gradient of {name} was changed after its backward pass, when its reduction had begun: "
                        "change the mean after allreduce_grads, or use Worker(..., overlap=False)"
                    )
            for (name, b), view in zip(self._buffers, self._tails):
                if not b.is_floating_point() and b.numel() > 0 and int(b.abs().max()) >= _EXACT:
                    raise ValueError(f"buffer {name} holds whole numbers from {_EXACT} on, which a mean would spoil")
                view.copy_(b)

    def _spread(self, result: base.Result) -> None:
        """Takes the mean's gradients and buffers, or undoes what the forward pass did to the buffers."""
        with torch.no_grad():
            for (_, p), view in zip(self._params, self._grads):
                if not result:
                    p.grad = None
                elif _shares(p):
                    p.grad = view
                else:
                    p.grad = view.to(p.device, p.dtype)
            for (_, b), view, before in zip(self._buffers, self._tails, self._before):
                if not result:
                    b.copy_(before)
                else:
                    b.copy_(view if b.is_floating_point() else view.round())

    def _hash(self) -> int:
        h = hashlib.blake2b(digest_size=8)
        for _, p in self._params:
            h.update(_raw(p.detach()).data)
        return int.from_bytes(h.digest(), "little")

    def _state(self) -> dict[str, Any]:
        """The state after the last committed step: the forward pass of this one may have changed buffers."""
        model = self.model.state_dict()
        if self._step is not None:
            for (name, _), before in zip(self._buffers, self._before):
                if name in model:
                    model[name] = before
        optimizer = self.optimizer.state_dict()
        also = {name: thing.state_dict() for name, thing in self._also.items()}
        return _to_tree({"model": dict(model), "optimizer": optimizer, "also": also})

    def _adopt(self, tree: dict[str, Any]) -> None:
        state = _from_tree(tree)
        if set(state["also"]) != set(self._also):
            raise ValueError(f"the group's state has {sorted(state['also'])} beside model and optimizer")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name, thing in self._also.items():
            thing.load_state_dict(state["also"][name])


def _bring(p: torch.Tensor, view: torch.Tensor) -> None:
    """Brings a parameter's gradient into the shared memory, unless it is there."""
    if p.grad is None:
        view.zero_()
    elif p.grad.data_ptr() != view.data_ptr():
        view.copy_(p.grad)


def _number(x: torch.Tensor | float) -> float:
    return x.detach().item() if isinstance(x, torch.Tensor) else float(x)


def _shares(p: torch.Tensor) -> bool:
    """Whether a parameter's gradient can lie in the shared memory."""
    return p.dtype == torch.float32 and p.device.type == "cpu" and p.layout == torch.strided and p.is_contiguous()


def _raw(t: torch.Tensor) -> Raw:
    flat = t.detach().cpu().contiguous()
    data = flat.view(-1).view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
    return Raw(str(flat.dtype), tuple(flat.shape), data)


def _tensor(raw: Raw) -> torch.Tensor:
    dtype = getattr(torch, raw.dtype.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"a tensor of the unknown type {raw.dtype}")
    if raw.data.nbytes == 0:
        return torch.empty(raw.shape, dtype=dtype)
    return torch.from_numpy(raw.data.copy()).view(dtype).reshape(raw.shape)


def _to_tree(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return _raw(x)
    if isinstance(x, Mapping):
        return {key: _to_tree(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)) and not isinstance(x, Raw):
        return type(x)(_to_tree(value) for value in x) if type(x) in (list, tuple) else [_to_tree(v) for v in x]
    return x


def _from_tree(x: Any) -> Any:
    if isinstance(x, Raw):
        return _tensor(x)
    if isinstance(x, dict):
        return {key: _from_tree(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_from_tree(value) for value in x)
    return x
