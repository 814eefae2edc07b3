"""A program of the tests: trains until it is told to leave."""

import json
import os
import pathlib

import millrace

NAME, OUT = os.environ["MILLRACE_WORKER"], pathlib.Path(os.environ["OUT"])
with millrace.Worker(100) as worker:
    end = "stopped"
    while True:
        step = worker.begin()
        if step is None:
            end = "left"
            break
        step.commit(samples=1)
        (OUT / (NAME + ".going")).touch()
(OUT / (NAME + ".json")).write_text(json.dumps({"end": end}))
