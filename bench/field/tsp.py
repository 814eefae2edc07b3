"""Tours by the peers of the bench field. One request a line on stdin, {"solver", "points", "seconds"}; one answer a line:
{"order", "seconds"} with the order of the visit.

ortools: the routing solver with the savings heuristic, then guided local search for the given seconds.
lkh:     elkai, the LKH solver (one run with its defaults).
"""
import json
import sys
import time

SCALE = 1000  # both solvers take whole numbers: millimetres


def ortools(points, seconds):
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2

    n = len(points)
    matrix = [[round(SCALE * ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5) for b in points] for a in points]
    manager = pywrapcp.RoutingIndexManager(n, 1, 0)
    routing = pywrapcp.RoutingModel(manager)
    transit = routing.RegisterTransitMatrix(matrix)
    routing.SetArcCostEvaluatorOfAllVehicles(transit)
    how = pywrapcp.DefaultRoutingSearchParameters()
    how.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.SAVINGS
    how.local_search_metaheuristic = routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    how.time_limit.FromMilliseconds(int(1000 * seconds))
    found = routing.SolveWithParameters(how)
    order, at = [], routing.Start(0)
    while not routing.IsEnd(at):
        order.append(manager.IndexToNode(at))
        at = found.Value(routing.NextVar(at))
    return order


def lkh(points, seconds):
    import elkai

    cities = {i: (SCALE * x, SCALE * y) for i, (x, y) in enumerate(points)}
    return elkai.Coordinates2D(cities).solve_tsp(runs=1)[:-1]


for line in sys.stdin:
    request = json.loads(line)
    start = time.process_time()
    order = {"ortools": ortools, "lkh": lkh}[request["solver"]](request["points"], request["seconds"])
    print(json.dumps({"order": order, "seconds": time.process_time() - start}), flush=True)
