#!/bin/sh
# clew-hook EVENT --client NAME: finds the installed clew-hook and becomes it. A hook must never hold up an agent: where
# Clew is not installed this drains its input, says once how to install it, and ends with 0.
for found in "$(command -v clew-hook 2>/dev/null)" \
	"$HOME/.local/bin/clew-hook" /opt/homebrew/bin/clew-hook /usr/local/bin/clew-hook \
	"${UV_TOOL_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/uv/tools}/clew-memory/bin/clew-hook" \
	"${PIPX_HOME:-$HOME/.local/share/pipx}/venvs/clew-memory/bin/clew-hook"; do
	# This file may itself be the one on PATH: then it must not start itself.
	if [ -n "$found" ] && [ -x "$found" ] && ! [ "$found" -ef "$0" ]; then
		exec "$found" "$@"
	fi
done
# Some clients keep the pipe open: what has not come after a moment is not waited for. A process in the background has no
# input of its own, so it is handed ours; and the one that waits holds none of the client's pipes.
exec 3<&0
cat <&3 >/dev/null 2>&1 &
drain=$!
{ sleep 0.2 || sleep 1; kill "$drain"; } </dev/null 3<&- >/dev/null 2>&1 &
limit=$!
{ wait "$drain"; kill "$limit"; } 2>/dev/null
said="${CLAUDE_PLUGIN_DATA:-${PLUGIN_DATA:-${XDG_STATE_HOME:-$HOME/.local/state}/clew-memory}}/said-missing"
if [ "$1" = session-start ] && ! [ -e "$said" ]; then
	mkdir -p "$(dirname "$said")" 2>/dev/null && : >"$said" 2>/dev/null &&
		printf '%s\n' '{"systemMessage": "Clew hooks are silent: clew-memory is not installed. Run: uv tool install clew-memory"}'
fi
exit 0
