#!/usr/bin/env bash
# bench/run.sh NAME [--quick] [--json]: races us against the peers and holds the result to
# bars.yaml. NAME is accuracy, field, gemm, group, recovery or step. Exits 1 when a bar is missed. See README.md.
set -eu
cd "$(dirname "$0")"
mkdir -p work results
case " $* " in
*" accuracy "*) # no peers: two data sets
	if [ ! -d /usr/share/datasets/fashion-mnist ]; then
		as_root=
		[ "$(id -u)" = 0 ] || as_root="sudo -n"
		$as_root sh -c 'apt-get update -qq && apt-get install -y -qq dataset-fashion-mnist' >&2
	fi
	go build -buildvcs=auto -o work/ ./cmd/bench
	exec work/bench "$@"
	;;
*" field "*) # needs neither PyTorch nor a compiler
	./field/setup.sh >work/versions.txt
	go build -buildvcs=auto -o work/ ./cmd/bench ./cmd/fieldscale
	exec work/bench "$@"
	;;
*" group "*)
	./setup.sh >work/versions.txt
	./group/setup.sh >>work/versions.txt
	go build -buildvcs=auto -o work/ ./cmd/bench ./cmd/allreduce
	go -C .. build -o bench/work/millrace ./cmd/millrace
	exec work/bench "$@"
	;;
esac
./setup.sh >work/versions.txt
for peer in limits onednn_gemm; do
	if [ ! work/$peer -nt peers/$peer.cpp ] || [ ! work/$peer -nt peers/protocol.h ]; then
		g++ -std=c++17 -O3 -march=native -pthread -o work/$peer peers/$peer.cpp -Wl,--as-needed -ldnnl
	fi
done
go build -buildvcs=auto -o work/ ./cmd/...
exec work/bench "$@"
