#!/usr/bin/env bash
# Runs an agent over a copy of this repository, kills the server with kill -9 in
# mid-turn, starts it again and shows the same turn complete. Everything it makes
# is in one temporary folder, which it removes.
set -euo pipefail
cd "$(dirname "$0")/.."
cadre=$PWD/bin/cadre
work=$(mktemp -d)
export CADRE_DATA=$work/data CADRE_LISTEN=127.0.0.1:0
unset CADRE_SERVER CADRE_TOKEN
say() { printf '\n\033[1m== %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
cleanup() {
  "$cadre" down >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

# wait_for N: until N tool calls of the session have completed.
wait_for() {
  for _ in $(seq 600); do
    done_now=$("$cadre" events "$session" --types agent.tool.completed 2>/dev/null | wc -l) || done_now=0
    [ "$done_now" -ge "$1" ] && return
    sleep 0.05
  done
  echo "the turn did not reach $1 completed tool calls" >&2
  exit 1
}

say "A copy of this repository for the agent to work in"
mkdir -p "$work/tree"
if git rev-parse --git-dir >/dev/null 2>&1; then git ls-files -z; else find . -path ./.cache -prune -o -path ./bin -prune -o -type f -print0; fi |
  xargs -0 tar -cf - -- | tar -xf - -C "$work/tree"
echo "$(find "$work/tree" -type f | wc -l) files"

say "cadre up -d"
"$cadre" up -d

say "cadre apply -f examples/agents/editor.yaml"
"$cadre" apply -f examples/agents/editor.yaml

say "cadre run editor -m 'Write a tour of this tree' -w (the copy)"
"$cadre" run editor -m "Write a tour of this tree" -w "$work/tree" 2>&1 | tee "$work/run.txt" &
watcher=$!
for _ in $(seq 200); do
  session=$("$cadre" sessions -o name 2>/dev/null | head -n 1 | cut -d/ -f2) || session=
  [ -n "$session" ] && break
  sleep 0.05
done
wait_for 4
pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$CADRE_DATA/server.json")

say "kill -9 $pid, in mid-turn"
kill -9 "$pid"
sleep 0.3

say "cadre up -d, again"
"$cadre" up -d
status=0
wait "$watcher" || status=$?

say "What the agent left behind"
cat "$work/tree/TOUR.md"

say "The log: one turn, taken up once, every call completed once"
"$cadre" events "$session" --types 'turn.*' --types agent.tool.completed
calls=$("$cadre" events "$session" --types agent.tool.completed | wc -l)
ends=$("$cadre" events "$session" --types turn.completed | wc -l)
stops=$(grep -cE '^[1-5]\. ' "$work/tree/TOUR.md")
if [ "$status" != 0 ] || [ "$calls" != 9 ] || [ "$ends" != 1 ] || [ "$stops" != 5 ]; then
  echo "the demo failed: exit $status, $calls completed calls of 9, $ends ends of 1, $stops stops of 5" >&2
  "$cadre" logs >&2
  exit 1
fi

say "cadre down"
"$cadre" down
echo "demo passed"
