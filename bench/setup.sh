#!/bin/sh
# Makes the environments of the benches' peers, and only what is missing:
#   .venv   PyTorch, JAX and numpy from PyPI (PyTorch's wheel brings its CUDA libraries along: about 5 GB)
#   Debian  a C++ compiler, oneDNN
# It can be run again at any time. Prints the versions in use.
set -eu
cd "$(dirname "$0")"

missing=
for package in g++ libdnnl-dev python3-venv; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get -o DPkg::Lock::Timeout=300 update -q >&2
	# shellcheck disable=SC2086 # a list of names
	DEBIAN_FRONTEND=noninteractive $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $missing >&2
fi

[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python - <<'PY' 2>/dev/null || .venv/bin/pip install -q 'torch>=2.13' 'jax>=0.10' 'numpy>=2' >&2
import importlib.metadata as m
for name, least in (("torch", (2, 13)), ("jax", (0, 10)), ("numpy", (2, 0))):
    assert tuple(int(p) for p in m.version(name).split(".")[:2]) >= least
PY

.venv/bin/python - <<'PY'
import importlib.metadata as m, platform
print("python", platform.python_version())
for name in ("torch", "jax", "jaxlib", "numpy"):
    print(name, m.version(name))
PY
dpkg-query -W -f '${Package} ${Version}\n' libdnnl-dev g++
go version | cut -d' ' -f1,3
