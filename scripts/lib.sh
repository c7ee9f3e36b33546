# Shared by the scripts; sourced, not run.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RUN=${GROUNDWORK_RUN:-$ROOT/.run}
VARIANT=${VARIANT:-release} # of the build that is run
BIN=$ROOT/build/$VARIANT/bin
unset GROUNDWORK_RUN # the daemons refuse GROUNDWORK_ variables that they do not know

say() { printf '%s\n' "$*"; }
step() { printf '\033[1m==>\033[0m %s\n' "$*"; }
die() { # MESSAGE [LOG FILE]: prints the message and the last lines of the log, and exits
    printf '\033[31merror:\033[0m %s\n' "$1" >&2
    if [ $# -gt 1 ] && [ -s "$2" ]; then
        printf -- '--- last lines of %s\n' "$2" >&2
        tail -n 15 "$2" >&2
    fi
    exit 1
}

# Prints the path of a command of PostgreSQL's server package.
pg_tool() {
    local found
    found=$(command -v "$1" || true)
    [ -n "$found" ] || found=$(ls -1 /usr/lib/postgresql/*/bin/"$1" 2>/dev/null | sort -V | tail -n 1) || true
    [ -n "$found" ] || die "$1 is not installed; run scripts/setup"
    printf '%s' "$found"
}

# PostgreSQL refuses to run as root: as root, run the command as user postgres.
as_pg() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

port_is_free() {
    /usr/bin/python3 -I -S - "$1" <<'PY'
import socket, sys
with socket.socket() as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", int(sys.argv[1])))
    except (OSError, OverflowError):
        sys.exit(1)
PY
}

# Between lock_ports and unlock_ports no other `make run` of this user chooses ports: a chosen port looks free until its daemon
# listens. The lock is the open file 9, which no daemon may inherit.
lock_ports() {
    exec 9>>"${TMPDIR:-/tmp}/groundwork-ports-$(id -u).lock"
    flock -n 9 || { say "    waiting for another \`make run\` to choose its ports"; flock 9; }
}
unlock_ports() { exec 9>&-; }

# Prints the port that VARIABLE names, else the port of the previous run, else the first free port from the default on.
choose_port() { # VARIABLE DEFAULT LAST
    local port
    if [ -n "${!1:-}" ]; then
        port_is_free "${!1}" || die "port ${!1} (from $1) is in use or not a valid port; choose another port"
        printf '%s' "${!1}"
        return
    fi
    for port in ${3:-} $(seq "$2" $(($2 + 99))); do
        case " ${taken:-} " in *" $port "*) continue ;; esac
        port_is_free "$port" && printf '%s' "$port" && return
    done
    die "no port from $2 on is free; set $1 to a free port"
}

# Succeeds when PID is a running process of the daemon NAME. (Process ids are reused: never trust a pid file alone.)
is_daemon() { # PID NAME
    [ -n "${1:-}" ] && [ -d "/proc/$1" ] && case "$(readlink "/proc/$1/exe" 2>/dev/null)" in
        */bin/"$2" | */bin/"$2 (deleted)") return 0 ;;
    esac
    return 1
}

# The helper programs that `make run` starts in addition to the daemons: the simulated payment processor, app store and push
# providers of the tests, a mail catcher, and the demo's page. The first two keep their state in .run.
stand_ins() { echo processor store push mail shop; }
stand_in_command() { # NAME: prints the command's words, one per line
    case "$1" in
    processor) printf '%s\n' tests/processor --state "$RUN/processor.json" ;;
    store) printf '%s\n' tests/flow/store --folder "$RUN/store" ;;
    push) printf '%s\n' tests/push --ca "$RUN/push-ca.pem" ;;
    mail) printf '%s\n' tests/mail ;;
    shop) printf '%s\n' tests/shop ;;
    esac
}

# Succeeds when PID is the running stand-in NAME of this .run, with these arguments.
is_stand_in() { # NAME PID [ARGUMENTS]
    local name=$1 pid=${2:-} command
    shift
    [ $# -eq 0 ] || shift
    [ -n "$pid" ] && command=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") \
        && [[ $command == *"$(stand_in_command "$name" | tr '\n' ' ')${*+$* }"* ]]
}

stop_stand_in() { # NAME PID
    kill -TERM "$2" 2>/dev/null || return 0
    local _
    for _ in $(seq 50); do
        is_stand_in "$1" "$2" || return 0
        sleep 0.1
    done
    kill -KILL "$2" 2>/dev/null || true
}

# Prints the prefix of a daemon's variables in .run/env: api-gateway -> GATEWAY, workflow-runner -> WORKFLOW_RUNNER.
daemon_prefix() {
    case "$1" in
    api-gateway) printf GATEWAY ;;
    *) tr 'a-z-' 'A-Z_' <<<"$1" | tr -d '\n' ;;
    esac
}

daemons() {
    local main
    for main in "$ROOT"/services/*/main.c; do
        [ -f "$main" ] && basename "$(dirname "$main")"
    done
    return 0
}

# Succeeds when a daemon has this setting. Takes the help as a text: with a pipe to a program that stops at the first match, the
# daemon would die of the closed pipe, and pipefail would turn the match into a failure.
has_setting() { # TEXT OF --help-config, VARIABLE
    [[ $'\n'$1 == *$'\n'"$2"[=\ ]* ]]
}

# Stores the text of --help-config of each daemon in HELP.
declare -A HELP=()
read_help() {
    local each
    for each in $(daemons); do
        HELP[$each]=$("$BIN/$each" --help-config) || die "$each --help-config failed"
    done
}

# Unsets the variables that the caller set for other daemons, because a daemon refuses to start with an unknown variable. A
# variable that no daemon knows stays set, so that the daemon reports it. Needs HELP. Run this in a subshell.
unset_foreign_settings() { # NAME OF THE DAEMON
    local variable all
    all=$(printf '%s\n' "${HELP[@]}")
    for variable in $(compgen -e GROUNDWORK_); do
        if has_setting "$all" "${variable%_FILE}" && ! has_setting "${HELP[$1]}" "${variable%_FILE}"; then
            unset "$variable"
        fi
    done
}

stop_daemon() { # PID NAME: sends SIGTERM, waits as long as a daemon may drain, then sends SIGKILL
    kill -TERM "$1" 2>/dev/null || return 0
    local _
    for _ in $(seq 120); do
        is_daemon "$1" "$2" || return 0
        sleep 0.1
    done
    say "    $2 (process $1) did not stop within 12 s; killing it"
    kill -KILL "-$1" 2>/dev/null || kill -KILL "$1" 2>/dev/null || true
}
