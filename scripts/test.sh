#!/usr/bin/env bash
# Runs the test suite: scripts/test.sh [package...] [-- go test flags...]
#
# With a C compiler the race detector is on; without one the same tests run
# without it, and the output says so. No test needs a service: those that could
# use one skip by name when it is absent.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go=${GO:-go}
packages=()
while (($# > 0)) && [[ $1 != -- ]]; do
	packages+=("$1")
	shift
done
(($# == 0)) || shift # the two dashes
((${#packages[@]} > 0)) || packages=(./...)

# A compiler without the C library's headers cannot link the race detector.
cc=$("$go" env CC)
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
if printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${cc:-cc} -x c -o "$probe/probe" - 2>/dev/null; then
	export CGO_ENABLED=1
	race=-race
	echo "test: the race detector is on (C compiler: ${cc:-cc})"
else
	export CGO_ENABLED=0
	race=
	echo "test: the race detector is off, because there is no working C compiler; install gcc and libc6-dev to turn it on"
fi

# go vet is part of make lint.
# shellcheck disable=SC2086 # an empty word must vanish
run() { "$go" test $race -vet=off -timeout 20m "$@"; }
if [[ ${packages[*]} != ./... ]]; then
	run "$@" "${packages[@]}"
	exit
fi
# The tests of whole servers judge promises about time. They follow one after the
# other when the rest is done, so that none of them judges the load that others make.
result=0
mapfile -t rest < <("$go" list ./... | grep -v '/test/')
mapfile -t servers < <("$go" list ./test/...)
run "$@" "${rest[@]}" || result=1
run -p 1 "$@" "${servers[@]}" || result=1
CGO_ENABLED=0 "$go" -C tools test ./... || result=1
exit "$result"
