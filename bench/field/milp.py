"""Makes field/testdata/milp.json: small instances of the Buffer model with their optimum, proven by HiGHS.

    python3 -m venv env && env/bin/pip install highspy==1.16.0
    env/bin/python milp.py ../../field/testdata/milp.json 0-8 18-29 36-40 50-50 54-58 72-76 90-94 102-103 \
        449-449 1403-1403 1635-1635 2464-2464 2987-2987 3238-3238

An instance is named by a seed, which gives 8 to 25 sensors. A stop transmits what its whole tree carries and nobody in the tree
transmits more. So a largest load of at most B is possible on a set of stops exactly when the sensors can be divided into
connected parts of at most B packets with one of the stops in each; and it stays possible when stops are added. That divides the
problem in two, both integer programs (logic-based Benders decomposition, Hooker and Ottosson 2003):

    rounds      stops y and the edges x of a round through them (2 on one that is driven to and fro) that is no longer
                than the limit; rounds in several pieces are cut off as they appear.
    divisions   for given stops: one next hop p for every other sensor, with the flow f of packets on it, so that no stop receives
                more than B. As every sensor adds packets to the flow, next hops cannot run in circles.

Stops without a division are made as many as possible while they have none; at least one of the sensors left must be a stop in every
solution, which is a constraint for the rounds, and holds for smaller B as well. Where B does not fall, such sets are made around each
sensor, small ones because the sensors far away become stops first. A round has stops in any two of these sets; where they share no
sensor it drives out of either and back, which is what makes the rounds' linear relaxation strong. When a division is found, B falls
below its largest load; when no round is left, the last division is optimal. An instance for which HiGHS does not prove an answer in time is
left out, so the file holds proven optima only.
"""
import argparse
import itertools
import json
import math
import random
import sys
import time

import highspy

TINY = 1e-6


def program():
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    h.setOptionValue("mip_rel_gap", 0.0)
    return h


class Instance:
    def __init__(self, pos, weight, reach, limit, seconds):
        self.pos, self.weight, self.limit = pos, weight, limit
        self.n = len(pos)
        self.all = range(self.n)
        self.dist = [[math.dist(a, b) for b in pos] for a in pos]
        self.near = [[j for j in self.all if j != i and self.dist[i][j] <= reach] for i in self.all]
        self.end = time.process_time() + seconds
        self.found = {}  # stops -> largest load of a division
        self.none = {}  # stops -> load up to which there is no division

    def run(self, h):
        """Solves; the status is one of infeasible, optimal and (with an objective_target) target."""
        left = self.end - time.process_time()
        if left <= 0:
            raise TimeoutError
        h.setOptionValue("time_limit", h.getRunTime() + 20 * left)  # of the clock on the wall, which others may use up
        h.minimize()
        status = h.getModelStatus()
        known = highspy.HighsModelStatus
        if status not in (known.kInfeasible, known.kOptimal, known.kObjectiveTarget):
            raise TimeoutError
        return status

    def division(self, stops, load):
        """The largest load of a division with the given stops that has at most the given one, None when there is none."""
        stops = frozenset(stops)
        for other, found in self.found.items():
            if other <= stops and found <= load:
                return found
        if any(stops <= other and most >= load for other, most in self.none.items()):
            return None
        if not self.reached(stops) or not (found := self.divide(stops, load)):
            self.none[stops] = max(load, self.none.get(stops, 0))
            return None
        self.found[stops] = found
        return found

    def reached(self, stops):
        """Whether every sensor has a way to a stop."""
        seen, queue = set(stops), list(stops)
        while queue:
            fresh = [j for j in self.near[queue.pop()] if j not in seen]
            seen.update(fresh)
            queue += fresh
        return len(seen) == self.n

    def divide(self, stops, load):
        """The same as division, by an integer program."""
        h = program()
        p = {(i, j): h.addBinary() for i in self.all if i not in stops for j in self.near[i]}
        f = {e: h.addVariable(lb=0, ub=load - self.weight[e[1]]) for e in p}
        received = {i: [f[j, i] for j in self.near[i] if (j, i) in f] for i in self.all}
        for i in self.all:
            if i in stops:
                if received[i]:
                    h.addConstr(sum(received[i]) <= load - self.weight[i])
                continue
            h.addConstr(sum(p[i, j] for j in self.near[i]) == 1)
            h.addConstr(sum(f[i, j] for j in self.near[i]) - sum(received[i]) == self.weight[i])
            for j in self.near[i]:
                h.addConstr(f[i, j] >= self.weight[i] * p[i, j])
                h.addConstr(f[i, j] <= (load - self.weight[j]) * p[i, j])
                if j < i and (j, i) in p:
                    h.addConstr(p[i, j] + p[j, i] <= 1)
        if not p:
            return max(self.weight)
        if self.run(h) == highspy.HighsModelStatus.kInfeasible:
            return None
        value = h.getSolution().col_value
        return round(max([self.weight[i] + sum(value[v.index] for v in received[i]) for i in stops] + [max(self.weight)]))

    def grown(self, stops, load, order, allowed=lambda _: True):
        """The stops with more, in the given order, that are allowed and have no division of the given load."""
        stops = set(stops)
        for i in order:
            if i not in stops and allowed(stops | {i}) and self.division(stops | {i}, load) is None:
                stops.add(i)
        return stops

    def round_length(self, stops):
        """The length of a good round: nearest insertion, then 2-opt. Only used to choose among stops."""
        order = []
        for i in sorted(stops):
            grow = lambda k: self.dist[order[k - 1]][i] + self.dist[i][order[k]] - self.dist[order[k - 1]][order[k]]
            order.insert(min(range(len(order)), key=grow) if order else 0, i)
        better = True
        while better:
            better = False
            for a, b in itertools.combinations(range(len(order)), 2):
                turned = order[:a] + order[a:b + 1][::-1] + order[b + 1:]
                if self.length(turned) < self.length(order) - TINY:
                    order, better = turned, True
        return self.length(order)

    def length(self, order):
        return sum(self.dist[order[k - 1]][order[k]] for k in range(len(order)))

    def optimum(self, rng):
        """The least largest load, None when no round within the limit serves everybody."""
        total = sum(self.weight)
        best = total if self.reached({0}) else total + 1  # a round of one stop, or none
        rounds, known = Rounds(self), None
        shuffled = lambda: rng.sample(self.all, self.n)
        fits = lambda stops: self.round_length(stops) <= self.limit
        while best > max(self.weight):
            stops = rounds.next()
            if stops is None:
                break
            found = self.division(stops, best - 1)
            if found is None:  # perhaps with more stops that fit
                stops = self.grown(stops, best - 1, shuffled(), fits)
                more = [i for i in self.all if i not in stops and fits(stops | {i})]
                found = self.division(stops | {more[0]}, best - 1) if more else None
            if found is not None:
                best = found
                rounds.at_least(math.ceil(total / max(best - 1, 1)))
                continue
            if best != known:
                known = best
                for c in self.all:
                    rounds.force(self.grown((), best - 1, sorted(self.all, key=lambda i: -self.dist[c][i])))
            for _ in range(8):
                rounds.force(self.grown(stops, best - 1, shuffled()))
        return None if best > total else best


class Rounds:
    """The program of the rounds."""

    def __init__(self, instance):
        self.instance, self.all, dist = instance, instance.all, instance.dist
        self.h = program()
        self.h.setOptionValue("objective_target", instance.limit + TINY)
        self.y = [self.h.addBinary() for _ in self.all]
        self.x = {(i, j): self.h.addIntegral(lb=0, ub=2, obj=dist[i][j]) for i in self.all for j in range(i)}
        for i in self.all:
            self.h.addConstr(sum(self.edge(i, j) for j in self.all if j != i) == 2 * self.y[i])
            for j in range(i):
                self.h.addConstr(self.x[i, j] <= 2 * self.y[i])
                self.h.addConstr(self.x[i, j] <= 2 * self.y[j])
        self.h.addConstr(sum(dist[i][j] * x for (i, j), x in self.x.items()) <= instance.limit + TINY)
        self.at_least(2)
        self.forced = []  # sets that have a stop
        self.left = set()  # those that a round is known to leave

    def edge(self, i, j):
        return self.x[max(i, j), min(i, j)]

    def leaving(self, inside):
        """The edges between a set and the rest."""
        return sum(self.edge(i, j) for i in inside for j in self.all if j not in inside)

    def at_least(self, stops):
        self.h.addConstr(sum(self.y) >= stops)

    def force(self, most):
        """Adds that there is a stop outside of the given ones."""
        fresh = frozenset(self.all) - most
        if any(other <= fresh for other in self.forced):
            return
        self.h.addConstr(sum(self.y[i] for i in fresh) >= 1)
        for other in self.forced:
            if not other & fresh:
                for inside in {other, fresh} - self.left:
                    self.left.add(inside)
                    self.h.addConstr(self.leaving(inside) >= 2)
        self.forced.append(fresh)

    def next(self):
        """Stops of a round within the limit that no constraint excludes; None when there are none."""
        while True:
            if self.instance.run(self.h) == highspy.HighsModelStatus.kInfeasible:
                return None
            value = self.h.getSolution().col_value
            if self.h.getInfo().objective_function_value > self.instance.limit + 2 * TINY:
                return None
            stops = [i for i in self.all if value[self.y[i].index] > 0.5]
            pieces = parts(stops, lambda i, j: value[self.edge(i, j).index] > 0.5)
            if len(pieces) == 1:
                return stops
            for piece in pieces:
                other = next(s for s in stops if s not in piece)
                for i in piece:
                    self.h.addConstr(self.leaving(piece) >= 2 * self.y[i] + 2 * self.y[other] - 2)


def parts(nodes, joined):
    """The connected pieces of a graph."""
    left, pieces = set(nodes), []
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


def sample(seed):
    """Positions, weights, reach and limit of an instance."""
    rng = random.Random(seed)
    n = 8 + seed % 18
    side = 10 * round(math.sqrt(n) * 24 / 10)
    pos = [(round(rng.uniform(0, side), 1), round(rng.uniform(0, side), 1)) for _ in range(n)]
    weight = [rng.choice([1, 1, 1, 2, 4]) for _ in range(n)]
    return pos, weight, 30.0, round(side * rng.uniform(0.5, 3.0), 1)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("out")
    args.add_argument("seeds", nargs="+", help="FIRST-LAST")
    args.add_argument("--seconds", type=float, default=300, help="of CPU, for one instance")
    args = args.parse_args()
    cases = []
    for first, last in (map(int, a.split("-")) for a in args.seeds):
        for seed in range(first, last + 1):
            pos, weight, reach, limit = sample(seed)
            start = time.process_time()
            try:
                best = Instance(pos, weight, reach, limit, args.seconds).optimum(random.Random(seed))
            except TimeoutError:
                print(f"seed {seed}, {len(pos)} sensors: not proven in {args.seconds:g} s", file=sys.stderr, flush=True)
                continue
            print(f"seed {seed}, {len(pos)} sensors, limit {limit}: {best} after {time.process_time() - start:.1f} s", file=sys.stderr, flush=True)
            if best is not None:
                cases.append({"positions": pos, "weights": weight, "range": reach, "limit": limit, "optimum": best})
    with open(args.out, "w") as file:
        json.dump({"solver": f"HiGHS {highspy.Highs().version()}", "cases": cases}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
