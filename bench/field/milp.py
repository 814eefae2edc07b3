"""Makes field/testdata/milp.json: small instances of the Buffer model with their optimum, proven by HiGHS.

    python3 -m venv env && env/bin/pip install highspy
    env/bin/python milp.py ../../field/testdata/milp.json 0-8 18-31 36-40 54-58 72-76 90-94

For a maximal load B the program is: choose stops y and edges x of a round through them (2 on an edge that is driven to
and fro), and give every other sensor one next hop p among its neighbours, with flow f of packets on it, so that no sensor
passes on more than B; z says at which stop a sensor's packets end, which is the same for both ends of a hop; minimise the round's length. Rounds in several pieces are cut off as they appear. B is feasible when
the length is within the limit, and is found by bisection over whole numbers; an instance on which HiGHS does not prove
an answer in time is left out.
"""
import json
import math
import random
import sys
import time

import highspy

TIME = 40.0  # seconds for one program


def solve(pos, weight, reach, load, limit):
    """Whether a round of at least two stops within the limit has maximal load at most load; raises TimeoutError when unproven."""
    n, total = len(pos), sum(weight)
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    h.setOptionValue("objective_bound", limit + 1e-6)
    h.setOptionValue("objective_target", limit + 1e-6)
    dist = lambda i, j: math.dist(pos[i], pos[j])
    near = [[j for j in range(n) if j != i and dist(i, j) <= reach] for i in range(n)]
    y = [h.addBinary() for _ in range(n)]
    x = {(i, j): h.addIntegral(lb=0, ub=2, obj=dist(i, j)) for i in range(n) for j in range(i)}
    p = {(i, j): h.addBinary() for i in range(n) for j in near[i]}
    f = {(i, j): h.addVariable(lb=0, ub=load) for i in range(n) for j in near[i]}
    z = {(i, s): y[i] if i == s else h.addVariable(lb=0, ub=1) for i in range(n) for s in range(n)}
    edge = lambda i, j: x[max(i, j), min(i, j)]
    for i in range(n):
        h.addConstr(sum(edge(i, j) for j in range(n) if j != i) == 2 * y[i])
        h.addConstr(sum([p[i, j] for j in near[i]], y[i] + 0) == 1)
        passed = sum([f[j, i] for j in near[i]], 0 * y[i] + weight[i])
        h.addConstr(passed <= load)
        sent = sum([f[i, j] for j in near[i]], 0 * y[i])
        h.addConstr(sent >= passed - load * y[i])  # all goes on unless i is a stop
        for j in near[i]:
            h.addConstr(f[i, j] <= load * p[i, j])
            h.addConstr(f[i, j] >= weight[i] * p[i, j])
            if j < i:
                h.addConstr(p[i, j] + p[j, i] <= 1)
        h.addConstr(sum(z[i, s] for s in range(n)) == 1)
        h.addConstr(sum(weight[s] * z[s, i] for s in range(n)) <= load * y[i])
        for s in range(n):
            if s != i:
                h.addConstr(z[s, i] <= y[i])
        for j in near[i]:
            for s in range(n):
                h.addConstr(p[i, j] + z[i, s] - z[j, s] <= 1)
    h.addConstr(sum(y) >= max(2, math.ceil(total / load)))
    end = time.monotonic() + TIME
    while True:
        h.setOptionValue("time_limit", h.getRunTime() + max(0.1, end - time.monotonic()))
        h.minimize()
        status, info = h.getModelStatus(), h.getInfo()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kObjectiveBound):
            return False
        if info.mip_dual_bound > limit + 1e-6:
            return False
        if info.primal_solution_status != 2 or info.objective_function_value > limit + 1e-6:
            if status == highspy.HighsModelStatus.kOptimal:
                return False
            raise TimeoutError
        value = h.getSolution().col_value
        stops = [i for i in range(n) if value[y[i].index] > 0.5]
        pieces = parts(stops, lambda i, j: value[edge(i, j).index] > 0.5)
        if len(pieces) == 1:
            return True
        for piece in pieces:
            outside = [j for j in range(n) if j not in piece]
            cut = sum(edge(i, j) for i in piece for j in outside)
            other = next(s for s in stops if s not in piece)
            for i in piece:
                h.addConstr(cut >= 2 * y[i] + 2 * y[other] - 2)


def parts(stops, joined):
    """The pieces of the graph on the stops."""
    left, pieces = set(stops), []
    while left:
        piece, queue = set(), [left.pop()]
        while queue:
            i = queue.pop()
            piece.add(i)
            found = [j for j in left if joined(i, j)]
            left.difference_update(found)
            queue += found
        pieces.append(piece)
    return pieces


def optimum(pos, weight, reach, limit):
    """The least maximal load, or None when no round fits."""
    low, high = max(weight), sum(weight) + 1
    near = lambda i, j: math.dist(pos[i], pos[j]) <= reach
    if len(parts(range(len(pos)), near)) == 1:
        high = sum(weight)  # with one stop
    while low < high:
        mid = (low + high) // 2
        if solve(pos, weight, reach, mid, limit):
            high = mid
        else:
            low = mid + 1
    return low if low <= sum(weight) else None


def main():
    out, cases = sys.argv[1], []
    ranges = [tuple(map(int, a.split("-"))) for a in sys.argv[2:]]
    for seed in (s for first, last in ranges for s in range(first, last + 1)):
        rng = random.Random(seed)
        n = 8 + seed % 18
        side = 10 * round(math.sqrt(n) * 24 / 10)
        pos = [(round(rng.uniform(0, side), 1), round(rng.uniform(0, side), 1)) for _ in range(n)]
        weight = [rng.choice([1, 1, 1, 2, 4]) for _ in range(n)]
        reach, limit = 30.0, round(side * rng.uniform(0.5, 3.0), 1)
        try:
            best = optimum(pos, weight, reach, limit)
        except TimeoutError:
            print(f"seed {seed}, {n} sensors: not proven in time", file=sys.stderr)
            continue
        print(f"seed {seed}, {n} sensors, limit {limit}: {best}", file=sys.stderr, flush=True)
        if best is not None:
            cases.append({"positions": pos, "weights": weight, "range": reach, "limit": limit, "optimum": best})
    with open(out, "w") as file:
        json.dump({"solver": f"HiGHS {highspy.Highs().version()}", "cases": cases}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
