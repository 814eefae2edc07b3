#!/bin/sh
# Makes the environment of the peers of the bench field in work/field-env: OR-tools and elkai (the LKH solver) from PyPI.
# It can be run again at any time. Prints the versions in use.
set -eu
cd "$(dirname "$0")/.."
env=work/field-env
[ -x $env/bin/python ] || python3 -m venv $env
$env/bin/python -c 'import elkai, ortools' 2>/dev/null || $env/bin/pip install -q 'elkai>=2' 'ortools>=9' >&2
$env/bin/python - <<'PY'
import importlib.metadata as m, platform
print("python", platform.python_version())
for name in ("ortools", "elkai"):
    print(name, m.version(name))
PY
