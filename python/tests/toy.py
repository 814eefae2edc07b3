"""A program of the tests: pulls a vector of numbers to the mean of its samples."""

import json
import os
import pathlib
import signal
import time

import numpy as np

import millrace

ELEMENTS = 3000
NAME = os.environ["MILLRACE_WORKER"]
p = np.zeros(ELEMENTS, np.float32)


def restore(state):
    p[:] = state["p"]


def die_and_leave_a_child(out):
    """Ends as a program does that is killed while processes live on that it has forked, with its files open."""
    if os.fork() == 0:
        os.close(1)
        os.close(2)
        while out.exists():
            time.sleep(0.05)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


used, outcomes = [], []
elements = ELEMENTS + (1 if os.environ.get("ODD") == NAME else 0)
with millrace.Worker(
    elements, tensors=[("p", 0, elements)], samples=500, batch=24, seed=3, save=lambda: {"p": p}, restore=restore
) as worker:
    for step in worker.steps(epochs=2):
        if os.environ.get("FORK") == f"{NAME}:{step.number}":
            die_and_leave_a_child(pathlib.Path(os.environ["OUT"]))
        worker.gradients[:ELEMENTS] = 0.1 * p + np.float32(step.indices.sum() / max(step.weight, 1) / 500)
        if os.environ.get("NAN") == f"{NAME}:{step.number}":
            worker.gradients[7] = np.nan
        result = step.commit(loss=float("nan") if os.environ.get("NAN") == f"{NAME}:{step.number}" else 1.5)
        if result:
            p -= np.float32(0.1) * worker.gradients[:ELEMENTS]
        outcomes.append([result.step, result.outcome.value, result.culprit, result.loss])
        used += [[step.epoch, int(i)] for i in step.indices]
with open(os.path.join(os.environ["OUT"], NAME + ".json"), "w") as f:
    json.dump({"p": p[:3].tolist(), "hash": hash(p.tobytes()), "used": used, "outcomes": outcomes}, f)
