#!/usr/bin/env bash
# The test command of millrace.
#
#   ./test.sh         everything
#   ./test.sh short   the quick loop: this platform only, no race detector, no
#                     fuzzing, and the pages of the manual are read but not run
#
# Installs what is missing (a C compiler for the race detector, Chromium for
# pages, Node and Python for readers of our files, iproute2 for networks that break) on Debian and its kin. Prints
# a line per stage, the output of what fails, and at the end the failures again
# and "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")" || exit 1

case "${1-}" in
"") short='' limit=20m ;;
short) short=yes limit=5m ;;
*)
	echo "usage: ./test.sh [short]" >&2
	exit 2
	;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
export work

# install PACKAGE… installs Debian packages, or says what to install.
install() {
	local as_root=()
	[ "$(id -u)" = 0 ] || as_root=(sudo -n)
	if ! "${as_root[@]}" sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $*" >"$work/apt" 2>&1; then
		cat "$work/apt" >&2
		echo "please install: $*" >&2
		exit 1
	fi
}

if ! command -v go >/dev/null; then
	echo "please install Go: https://go.dev/dl" >&2
	exit 1
fi
if [ -z "$short" ]; then
	command -v gcc >/dev/null || install gcc libc6-dev
	command -v chromium >/dev/null || install chromium
	command -v npm >/dev/null || install nodejs npm
	python3 -c 'import ensurepip' 2>/dev/null || install python3-venv
	command -v tc >/dev/null || install iproute2
	[ -d .venv ] || python3 -m venv .venv || exit 1
fi
go build -o "$work/testsum" ./internal/cmd/testsum && go build -o "$work/staticcheck" honnef.co/go/tools/cmd/staticcheck || exit 1

# check STAGE COMMAND… is one test; tests STAGE ARGUMENT… is a run of go test.
check() { "$work/testsum" check "$log" "$@"; }
tests() { "$work/testsum" tests "$log" "$1" go test -json -count=1 -timeout $limit "${@:2}"; }

ours() { git ls-files --cached --others --exclude-standard -- "$@"; }

formatted() {
	local files
	files=$(gofmt -l .) || return 1
	echo "$files"
	[ -z "$files" ]
}
vetted_for() { GOOS=${1%/*} GOARCH=${1#*/} go vet ./...; }
generated() { # the generator of a package leaves no difference
	grep -q '^//go:generate' "$1"/*.go || return 1
	cksum "$1"/*.go "$1"/*.s >"$work/before"
	go -C "$1/_asm" vet . millrace.dev/internal/avx && go -C "$1/_asm" test . && go generate "./$1" && cksum "$1"/*.go "$1"/*.s | diff "$work/before" -
}
mission_readers() { # independent readers of the files that autopilots fly
	.venv/bin/pip install -q -r field/mission/testdata/requirements.txt &&
		mkdir -p .venv/node && cp field/mission/testdata/package.json .venv/node/ &&
		npm install --silent --no-audit --no-fund --prefix .venv/node
}
bench_works() { # a module of its own
	go -C bench vet ./... && (cd bench && "$work/staticcheck" ./...) && go -C bench build -o "$work/bench/" ./... && go -C bench test ./...
}
fuzzed() { # a package's target, for a while
	local out
	for _ in 1 2; do
		out=$(go test -run '^$' -fuzz "^$2\$" -fuzztime 3s -fuzzminimizetime 10x "./$1" 2>&1) && return
		# The go command may take the end of the time for a failure: once more then.
		if ! grep -q 'context deadline exceeded' <<<"$out" || grep -q 'Failing input' <<<"$out"; then break; fi
	done
	echo "$out"
	return 1
}
export -f formatted vetted_for generated mission_readers bench_works fuzzed

check "gofmt" bash -c formatted
check "go vet" go vet ./...
check "staticcheck" "$work/staticcheck" ./...
if command -v shellcheck >/dev/null; then check "shellcheck" shellcheck test.sh .ci/run; fi
ours '*_asm/go.mod' | while read -r file; do
	package=${file%/_asm/go.mod}
	check "go generate in $package" bash -c "generated $package"
done
if [ -f bench/go.mod ]; then check "benches" bash -c bench_works; fi
if [ -z "$short" ]; then check "readers of missions" bash -c mission_readers; fi

tests "tests" ${short:+-short} ./...
for level in generic avx2; do # the kernels once more at each lower level
	if [ $level = generic ] || grep -qw $level /proc/cpuinfo 2>/dev/null; then
		MILLRACE_CPU=$level tests "kernels at the level $level" -short ./learn/internal/... ./learn/engine/...
	fi
done

if [ -z "$short" ]; then
	check "go vet for linux/arm64" bash -c "vetted_for linux/arm64"
	check "go vet for darwin/arm64" bash -c "vetted_for darwin/arm64"

	# Packages with assembly are left out here: kernels share nothing.
	mapfile -t raced < <(go list -f '{{if not .SFiles}}{{.ImportPath}}{{end}}' ./... | grep .)
	tests "tests with the race detector" -race -short "${raced[@]}"

	ours '*_test.go' ':!bench' | xargs grep -HoE '^func Fuzz[A-Za-z0-9_]*' | while IFS=: read -r file function; do
		name=${function#func } package=$(dirname "$file")
		check "fuzz $package $name" bash -c "fuzzed $package $name"
	done
fi

# The Python client is tested against a current PyTorch, which a newcomer is spared.
if [ -d python ]; then
	if [ "${CI-}" = true ]; then
		check "python environment" .venv/bin/pip install -q -r python/requirements-test.txt
		check "python client" .venv/bin/python -m unittest discover -s python
	else
		echo "skipped: the Python client; CI=true ./test.sh tests it"
	fi
fi

"$work/testsum" report "$log"
