#!/usr/bin/env bash
# Checks what needs no run: formatting, golangci-lint (go vet is one of its linters), the .proto files,
# and that the shell scripts parse. LINTER names the pinned golangci-lint.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go=${GO:-go}
: "${LINTER:?make lint sets it}"
export CGO_ENABLED=0

echo "lint: gofmt"
unformatted=$(find . -name '*.go' -not -path './.*' -not -path '*/testdata/*' -exec gofmt -l {} +)
if [[ -n $unformatted ]]; then
	printf 'not formatted; run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi

echo "lint: shell scripts parse"
for script in scripts/*.sh .ci/run; do
	bash -n "$script"
done

echo "lint: golangci-lint"
"$LINTER" run ./...
(cd tools && "$OLDPWD/$LINTER" run --config ../.golangci.yml ./...)

echo "lint: .proto files"
"$go" -C tools run ./generate -lint
