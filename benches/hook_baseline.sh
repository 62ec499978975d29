#!/bin/sh
# What `rsf hook post-tool-use` is measured against: the same job as a POSIX shell script with jq, as people write it. It does less: no
# failure is told apart, and a session id is only refused, never hashed.
set -eu
input=$(cat)
id=$(printf '%s' "$input" | jq -r '.session_id // empty')
case $id in '' | *[!A-Za-z0-9_-]*) exit 0 ;; esac
dir=${CLAUDE_PROJECT_DIR:-$(printf '%s' "$input" | jq -r '.cwd // empty')}/.claude/hooks/state
mkdir -p "$dir"
file=$dir/turn-$id.txt
exec 9>"$dir/turn.lock"
flock 9
count=0
[ ! -f "$file" ] || read -r count < "$file" || true
case $count in '' | *[!0-9]*) count=0 ;; esac
printf '%s' $((count + 1)) > "$file.new"
mv "$file.new" "$file"
