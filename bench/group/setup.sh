#!/bin/sh
# Makes what the peers of the bench group need beyond ../setup.sh: Open MPI from Debian, and KungFu's launcher with our
# rank program, built in a cache folder outside of the project from the checkout in $KUNGFU or else from GitHub. Without
# KungFu its rows have no figure. It can be run again at any time. Prints the versions in use.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/work
kungfu=${XDG_CACHE_HOME:-$HOME/.cache}/millrace-bench/kungfu

missing=
for package in openmpi-bin libopenmpi-dev; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get -o DPkg::Lock::Timeout=300 update -q >&2
	# shellcheck disable=SC2086 # a list of names
	DEBIAN_FRONTEND=noninteractive $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $missing >&2
fi
if [ ! "$work/mpi_rank" -nt group/mpi_rank.cpp ] || [ ! "$work/mpi_rank" -nt peers/protocol.h ]; then
	mpicxx -std=c++17 -O3 -march=native -Ipeers -o "$work/mpi_rank" group/mpi_rank.cpp
fi

if [ ! -d "$kungfu" ]; then
	mkdir -p "$(dirname "$kungfu")"
	git clone -q "${KUNGFU:-https://github.com/lsds/KungFu}" "$kungfu.new" >&2 && mv "$kungfu.new" "$kungfu" || rm -rf "$kungfu.new"
fi
if [ -d "$kungfu" ]; then
	mkdir -p "$kungfu/tests/go/cmd/rank"
	cp group/_kungfu/main.go "$kungfu/tests/go/cmd/rank/main.go"
	(cd "$kungfu" && go build -o "$work/kungfu-run" ./srcs/go/cmd/kungfu-run && go build -o "$work/kungfu_rank" ./tests/go/cmd/rank) >&2
fi

dpkg-query -W -f '${Package} ${Version}\n' openmpi-bin
if [ -d "$kungfu" ]; then
	echo "KungFu $(git -C "$kungfu" rev-parse --short=12 HEAD)"
fi
