"""The line protocol that every peer speaks (bench/README.md describes it).

A peer's file calls serve() with what it is and with a function that builds one
row: build(row, variant) returns a function run(steps) that does so many steps and
returns the last loss, and the number of parameters that it trains. Building, compiling and warming up happen under the verb load,
outside of every measured burst.
"""
import gc
import json
import os
import sys
import time
import traceback


WARM_UP = 8


def serve(info, build):
    """Answers requests from stdin until it ends."""
    # Whatever a library prints goes to stderr; the answers have stdout alone.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    loaded = {}

    def answer(line):
        verb, *words = line.split()
        if verb == "info":
            return info
        row, variant = words[:2]
        if verb in ("load", "first"):
            run, params = build(row, variant)
            loaded[row, variant] = run
            return {"loss": run(WARM_UP if verb == "load" else 1), "params": params}
        if verb == "drop":
            loaded.pop((row, variant), None)
            gc.collect()
            return {}
        if verb == "run":
            run, steps = loaded[row, variant], int(words[2])
            cpu, wall = time.process_time(), time.perf_counter()
            loss = run(steps)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            return {"wall": wall, "cpu": cpu, "steps": steps, "loss": loss}
        raise ValueError(f"unknown request {line!r}")

    for line in sys.stdin:
        try:
            reply = answer(line)
        except Exception as err:  # the driver decides whether a row can be left out
            traceback.print_exc()
            reply = {"error": f"{type(err).__name__}: {err}".splitlines()[0][:300]}
        answers.write(json.dumps(reply) + "\n")
