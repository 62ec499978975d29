#!/bin/sh
# A real client: Codex CLI from the npm registry, set up by `rsf hook install`, against a model on loopback that makes 12 tool calls and
# stops. It must be told exactly one thing: the text of the tenth turn, naming turn 12.
#
#   tests/clients/codex.sh [RSF]        RSF: the program, target/debug/rsf unless given
#
# Needs node, npm, python3, and the registry once (about 150 MB in target/codex). Set CODEX to use one that is installed.
set -eu
cd "$(dirname "$0")/../.."
rsf=$(realpath "${1:-target/debug/rsf}")
here=$PWD/tests/clients
version=0.171.0

if [ -z "${CODEX:-}" ]; then
    CODEX=$PWD/target/codex/node_modules/.bin/codex
    [ -x "$CODEX" ] || npm install --silent --no-audit --no-fund --prefix target/codex "@openai/codex@$version"
fi

work=$(mktemp -d)
model=
cleanup() { [ -z "$model" ] || kill "$model" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT INT TERM
mkdir "$work/home" "$work/my project"

python3 "$here/stub_model.py" 12 "$work/port" "$work/log" &
model=$!
tries=0
while [ ! -f "$work/port" ]; do
    tries=$((tries + 1)); [ "$tries" -le 100 ] || { echo "the model did not start" >&2; exit 1; }
    sleep 0.1
done
port=$(cat "$work/port")

cat > "$work/home/config.toml" <<TOML
model = "stub"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:$port/v1"
wire_api = "responses"
TOML

export CODEX_HOME="$work/home"
unset CLAUDE_PROJECT_DIR RSF_TASK RSF_TASK_ID 2>/dev/null || true
"$rsf" hook install --agent codex --scope user --project "$work/my project"
"$rsf" hook install --agent codex --scope user --project "$work/my project"

timeout 300 "$CODEX" exec --skip-git-repo-check --dangerously-bypass-hook-trust --sandbox danger-full-access \
    --cd "$work/my project" "work until you are done" < /dev/null > "$work/out" 2> "$work/err" || { cat "$work/out" "$work/err"; exit 1; }

python3 - "$work/log" "$work/my project/.claude/hooks/state" <<'PY'
import json, pathlib, sys
requests = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
texts = [json.dumps(item, ensure_ascii=False) for item in requests[-1]["input"]]
told = [text for text in texts if "[DANGER: TURN" in text and '"role": "user"' in text]
outputs = [text for text in texts if '"function_call_output"' in text]
counts = [path.read_text() for path in pathlib.Path(sys.argv[2]).glob("turn-*.txt")]
print(f"{len(requests)} requests, {len(outputs)} tool calls, count {counts}, {len(told)} injection(s)")
for text in told:
    print(text)
assert any("Hard escalation" in json.dumps(item) for item in requests[0]["input"]), "the constraint is told at the session's start"
assert len(outputs) == 12, "the model was to make 12 calls"
assert len(told) == 1, "exactly one injection"
assert "[DANGER: TURN 12] 重新读取 boot.md" in told[0], "the text of the tenth turn, naming turn 12"
PY
echo "codex: as expected"
