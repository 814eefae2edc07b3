"""Makes field/testdata/milp.json: small instances of the Buffer model with their optimum, proven by HiGHS.

    python3 -m venv env && env/bin/pip install highspy && env/bin/python milp.py > ../../field/testdata/milp.json

For a maximal load B the program is: choose stops y and a round x through them (one commodity of flow g from a free root
keeps it in one piece), and give every other sensor one next hop p among its neighbours, with flow f of packets on
it, so that no sensor passes on more than B; minimise the round's length. B is feasible when that length is within the
limit. B is found by bisection over whole numbers; an instance on which HiGHS does not prove an answer in time is left out.
"""
import json
import math
import random
import sys

import highspy

TIME = 60.0  # seconds for one program


def solve(pos, weight, reach, load, limit):
    """Least length of a round with maximal load, or None when there is none; raises TimeoutError when unproven."""
    n, total = len(pos), sum(weight)
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("time_limit", TIME)
    h.setOptionValue("threads", 1)
    h.setOptionValue("objective_bound", limit + 1e-6)
    h.setOptionValue("mip_rel_gap", 1e-7)
    dist = lambda i, j: math.dist(pos[i], pos[j])
    near = [[j for j in range(n) if j != i and dist(i, j) <= reach] for i in range(n)]
    y = [h.addBinary() for _ in range(n)]
    root = [h.addBinary() for _ in range(n)]
    x = {(i, j): h.addBinary(obj=dist(i, j)) for i in range(n) for j in range(n)}
    g = {(i, j): h.addVariable(lb=0, ub=n) for i in range(n) for j in range(n) if i != j}
    p = {(i, j): h.addBinary() for i in range(n) for j in near[i]}
    f = {(i, j): h.addVariable(lb=0, ub=load) for i in range(n) for j in near[i]}
    h.addConstr(sum(root) == 1)
    for i in range(n):
        h.addConstr(root[i] <= y[i])
        h.addConstr(sum(x[i, j] for j in range(n)) == y[i])
        h.addConstr(sum(x[j, i] for j in range(n)) == y[i])
        arrives = sum(g[j, i] for j in range(n) if j != i) - sum(g[i, j] for j in range(n) if j != i)
        h.addConstr(arrives >= y[i] - n * root[i])
        if near[i]:
            h.addConstr(sum(p[i, j] for j in near[i]) + y[i] == 1)
            passed = weight[i] + sum(f[j, i] for j in near[i])
            h.addConstr(passed <= load)
            sent = sum(f[i, j] for j in near[i])
            h.addConstr(sent >= passed - total * y[i])  # all goes on unless i is a stop
            h.addConstr(sent <= passed)
        else:
            h.addConstr(y[i] == 1)
        for j in near[i]:
            h.addConstr(f[i, j] <= load * p[i, j])
        for j in range(n):
            if i != j:
                h.addConstr(g[i, j] <= n * x[i, j])
    h.minimize()
    status = h.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status == highspy.HighsModelStatus.kObjectiveBound:
        return None
    if status == highspy.HighsModelStatus.kOptimal:
        return h.getInfo().objective_function_value
    bound, best = h.getInfo().mip_dual_bound, h.getInfo().objective_function_value
    if bound > limit:
        return None
    if h.getInfo().primal_solution_status == 2 and best <= limit:
        return best
    raise TimeoutError


def optimum(pos, weight, reach, limit):
    low, high = max(weight), sum(weight)
    if (v := solve(pos, weight, reach, high, limit)) is None or v > limit + 1e-9:
        return None
    while low < high:
        mid = (low + high) // 2
        v = solve(pos, weight, reach, mid, limit)
        if v is not None and v <= limit + 1e-9:
            high = mid
        else:
            low = mid + 1
    return low


def main():
    cases = []
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 60):
        rng = random.Random(seed)
        n = 8 + seed % 18
        side = 10 * round(math.sqrt(n) * 22 / 10)
        pos = [(round(rng.uniform(0, side), 1), round(rng.uniform(0, side), 1)) for _ in range(n)]
        weight = [rng.choice([1, 1, 1, 2, 4]) for _ in range(n)]
        reach, limit = 40.0, round(side * rng.uniform(0.5, 3.0), 1)
        try:
            best = optimum(pos, weight, reach, limit)
        except TimeoutError:
            print(f"seed {seed}, {n} sensors: not proven in time", file=sys.stderr)
            continue
        print(f"seed {seed}, {n} sensors, limit {limit}: {best}", file=sys.stderr, flush=True)
        if best is not None:
            cases.append({"positions": pos, "weights": weight, "range": reach, "limit": limit, "optimum": best})
    solver = highspy.Highs().version()
    json.dump({"solver": f"HiGHS {solver}", "cases": cases}, sys.stdout, separators=(",", ":"))
    print()


main()
