#!/bin/sh
# Makes the peers of the bench field: OR-tools and elkai (the LKH solver) from PyPI in work/field-env, and work/ns3_routes with ns-3
# from Debian. Without ns-3 its row has no figure. It can be run again at any time. Prints the versions in use.
set -eu
cd "$(dirname "$0")/.."
env=work/field-env
[ -x $env/bin/python ] || python3 -m venv $env
$env/bin/python -c 'import elkai, ortools' 2>/dev/null || $env/bin/pip install -q 'elkai>=2' 'ortools>=9' >&2

installed() { dpkg-query -W -f '${Status}' libns3-dev 2>/dev/null | grep -q 'ok installed'; }
sudo=
[ "$(id -u)" = 0 ] || sudo='sudo -n'
installed || {
	$sudo apt-get -o DPkg::Lock::Timeout=300 update -q &&
		DEBIAN_FRONTEND=noninteractive $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends libns3-dev
} >&2 || echo 'ns-3 cannot be installed: its row will have no figure' >&2
if installed && [ ! work/ns3_routes -nt field/ns3.cpp ]; then
	g++ -std=c++17 -O2 -Wall -o work/ns3_routes field/ns3.cpp -lns3-lr-wpan -lns3-spectrum -lns3-propagation -lns3-mobility -lns3-network -lns3-core
fi

$env/bin/python - <<'PY'
import importlib.metadata as m, platform
print("python", platform.python_version())
for name in ("ortools", "elkai"):
    print(name, m.version(name))
PY
installed && dpkg-query -W -f '${Package} ${Version}\n' libns3-dev || echo 'ns-3 not installed'
