# What the acceptance scripts share: reporting, asking, and a server of one's own. Sourced, never run.
#
# A script needs E2E_BINARY (the server). Where E2E_DIR names no running services, it starts its own for as long as it
# runs. With BASE_URL a script that only asks (05 to 08) asks that server and starts none; give it a server nobody else asks.
# shellcheck shell=bash
set -u -o pipefail
export LC_ALL=C.UTF-8
e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=$(basename "$0" .sh)

checks=0
failures=0
complete=''
own_dir=''
own_services=''
provider_pid=''
declare -A server_log=() # process id → log

# --- reporting -----------------------------------------------------------------------------------------------------

ok() { checks=$((checks + 1)) && echo "ok $checks - $script: $1"; }
not_ok() { # NAME [DETAIL…]
    checks=$((checks + 1))
    failures=$((failures + 1))
    echo "not ok $checks - $script: $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}
is() { # NAME EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected: $2" "     got: $3"; fi
}
matches() { # NAME PATTERN TEXT      an extended regular expression
    if [[ $3 =~ $2 ]]; then ok "$1"; else not_ok "$1" "to match: $2" "     got: $3"; fi
}
lacks() { # NAME TEXT WORD…          none of the words, in any case
    local name=$1 text=$2 word found=()
    shift 2
    for word in "$@"; do
        grep -qiF -- "$word" <<<"$text" && found+=("contains: $word")
    done
    if [ ${#found[@]} -eq 0 ]; then ok "$name"; else not_ok "$name" "${found[@]}" "in: $text"; fi
}
at_most() { # NAME BOUND NUMBER
    if awk -v number="$3" -v bound="$2" 'BEGIN { exit !(number != "" && number + 0 <= bound + 0) }'; then
        ok "$1"
    else
        not_ok "$1" "at most: $2" "    got: $3"
    fi
}
done_testing() { complete=yes; }
give_up() {
    not_ok "$@"
    complete=yes
    exit 1
}

# --- waiting -------------------------------------------------------------------------------------------------------

# Waits until a command succeeds, for a bounded time that the caller names. The bound is either a promise of the
# service or far beyond anything expected; it is never a guess about speed.
wait_until() { # SECONDS COMMAND…
    local end
    end=$(($(date +%s%N) + $1 * 1000000000))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s%N)" -lt "$end" ] || return 1
        sleep 0.05
    done
}

gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }

# --- a server of one's own -----------------------------------------------------------------------------------------

need_services() {
    # shellcheck source=/dev/null
    [ ! -f "$E2E_DIR/services.env" ] || . "$E2E_DIR/services.env"
    if [ -z "${SMTP_PORT:-}" ]; then
        own_services=yes
        "$e2e/services" start || give_up "the services start"
        # shellcheck source=/dev/null
        . "$E2E_DIR/services.env"
    fi
}

free_port() { node "$e2e/ports.mjs" 1; }

# Starts a server with sensible settings, which the arguments override, and waits until it is healthy.
# Sets BASE_URL, PID and LOG.
start_server() { # LABEL [VARIABLE=VALUE…]
    launch "$@"
    wait_until 60 settled
    healthy || give_up "the server '$1' starts" "$(tail -n 20 "$LOG")"
}
healthy() { curl -sf -o /dev/null --max-time 60 "$BASE_URL/health"; }
settled() { gone "$PID" || healthy; }

launch() { # LABEL [VARIABLE=VALUE…]
    local label=$1 port folder=$work/$1
    shift
    port=$(free_port)
    mkdir -p "$folder"
    BASE_URL=http://127.0.0.1:$port
    LOG=$logs/$label.log
    # Nothing of the caller's environment reaches the server, and no `.env` lies in its folder.
    cd "$folder" || give_up "the folder of '$label' is there"
    env -i PATH="$PATH" HOME="$folder" ENVIRONMENT=production LISTEN_ADDR="127.0.0.1:$port" SECRET_KEY="$secret_key" \
        DATABASE_URL="sqlite://$folder/labs-auth.db" MAIL_URL="smtp://127.0.0.1:${SMTP_PORT:-9}" \
        MAIL_FROM=labs@example.test FRONTEND_URL="$frontend" API_BASE_URL=https://api.example.test \
        CORS_ORIGINS=https://prima.li,https://app.example.test REDIS_ENABLED=false "$@" \
        "${E2E_BINARY:?the labs-auth binary}" "${SERVER_COMMAND:-serve}" >>"$LOG" 2>&1 </dev/null &
    PID=$!
    cd "$OLDPWD" || exit 1
    server_log[$PID]=$LOG
}

# Asks a server to stop and reports whether it did so properly. One that has ended must have been asked to: `asked`.
stop_server() { # PID [asked]
    local pid=$1 status text
    [ -n "${server_log[$pid]:-}" ] || return 0
    if [ $# -lt 2 ] && gone "$pid"; then
        not_ok "the server $(basename "${server_log[$pid]}" .log) runs until it is asked to stop" "$(tail -n 5 "${server_log[$pid]}")"
    fi
    kill -TERM "$pid" 2>/dev/null
    wait_until 35 gone "$pid" || kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    status=$?
    text=$(<"${server_log[$pid]}")
    is "the server $(basename "${server_log[$pid]}" .log) stops with exit code 0" 0 $status
    lacks "its log names no panic and no secret" "$(grep -iF -e panicked -e "$secret_key" -e "${POSTGRES_PASSWORD:-$secret_key}" -e "$password" <<<"$text")" \
        panicked "$secret_key" "${POSTGRES_PASSWORD:-$secret_key}" "$password"
    unset "server_log[$pid]"
}

# For scripts that only ask: the server that BASE_URL names, else one of their own.
use_server() {
    [ -n "${BASE_URL:-}" ] || start_server server
}

# --- an identity provider ------------------------------------------------------------------------------------------

# Where a provider sends people back to: API_BASE_URL of `launch`, and our path.
provider_returns=https://api.example.test/api/auth/infomaniak/callback

# Starts a real OpenID provider that knows one person. Sets `provider`, its address.
start_provider() { # EMAIL
    local modules=$e2e/oidc port
    (cd "$modules" && { cmp -s package-lock.json node_modules/.installed ||
        { npm ci --omit=optional --ignore-scripts --no-audit --no-fund && cp package-lock.json node_modules/.installed; }; }) \
        >"$logs/npm.log" 2>&1 || give_up "the provider can be installed" "$(tail -n 5 "$logs/npm.log")"
    port=$(free_port)
    provider=http://127.0.0.1:$port
    node "$modules/provider.mjs" "$port" "$provider_returns" "$1" >"$logs/provider.log" 2>&1 </dev/null &
    provider_pid=$!
    wait_until 60 curl -sf -o /dev/null "$provider/.well-known/openid-configuration" ||
        give_up "the provider starts" "$(tail -n 5 "$logs/provider.log")"
}

# What a browser does between leaving us and returning: follows the provider until it points back at us. Every walk has
# a jar of its own. Sets RETURN (the path and query of the return) and OURS (our cookie).
walk() { # [QUERY]
    local jar=$work/jar.$RANDOM location
    ask GET "/api/auth/infomaniak/start${1:-}"
    OURS=$(header Set-Cookie | sed -n 's/^\(labs_oidc=[^;]*\);.*/\1/p')
    location=$(header Location)
    for _ in 1 2 3 4 5 6; do
        case $location in
        "$provider_returns"*) break ;;
        /*) location=$provider$location ;;
        esac
        location=$(curl -s -o /dev/null -b "$jar" -c "$jar" -D - "$location" | tr -d '\r' | sed -n 's/^location: //Ip')
    done
    RETURN=/api/auth/infomaniak/callback${location#"$provider_returns"}
}

# --- asking --------------------------------------------------------------------------------------------------------

# One request; sets STATUS, BODY and HEADERS. With CLIENT set, a proxy has reported that client.
ask() { # METHOD PATH [BODY] [CURL ARGUMENTS…]
    local method=$1 path=$2 body=${3:-}
    shift 2
    [ $# -eq 0 ] || shift
    [ -z "$body" ] || set -- -H 'Content-Type: application/json' --data-binary "$body" "$@"
    [ -z "${CLIENT:-}" ] || set -- -H "X-Forwarded-For: $CLIENT" "$@"
    # A server that never answers ends the check, not the patience of whoever waits for the run.
    STATUS=$(curl -s -g --path-as-is --max-time 60 -X "$method" -D "$work/headers" -o "$work/body" -w '%{http_code}' \
        "$@" "$BASE_URL$path")
    BODY=$(cat "$work/body" 2>/dev/null)
    HEADERS=$(tr -d '\r' <"$work/headers" 2>/dev/null)
    : >"$work/body"
    : >"$work/headers"
}

field() { node "$e2e/json.mjs" "$@" <<<"$BODY"; }
header() { sed -n "s/^$1: //Ip" <<<"$HEADERS"; }

# The same request many times by one curl on one connection; prints the statuses in order, run by run:
# `30x422 1x429`. The part after `#` only counts, it is never sent.
many() { # COUNT METHOD PATH [BODY] [CURL ARGUMENTS…]
    local count=$1 method=$2 path=$3 body=${4:-}
    shift 3
    [ $# -eq 0 ] || shift
    [ -z "$body" ] || set -- -H 'Content-Type: application/json' --data-binary "$body" "$@"
    [ -z "${CLIENT:-}" ] || set -- -H "X-Forwarded-For: $CLIENT" "$@"
    curl -s --path-as-is -X "$method" -o /dev/null -w '%{http_code}\n' "$@" "$BASE_URL$path#[1-$count]" | runs
}
runs() { uniq -c | awk '{ printf "%s%sx%s", (NR > 1 ? " " : ""), $1, $2 } END { print "" }'; }

# --- people --------------------------------------------------------------------------------------------------------

token_from_mail() { node "$e2e/smtp/mails.mjs" token "${MAIL_DIR:?}" "$1" "$frontend$2"; } # ADDRESS PATH

# Registers an account and confirms its address by the link in the mail.
make_account() { # ADDRESS
    ask POST /api/auth/register "{\"email\":\"$1\",\"password\":\"$password\"}"
    [ "$STATUS" = 201 ] || give_up "an account can be registered" "$STATUS $BODY"
    ask POST /api/auth/verify-email "{\"token\":\"$(token_from_mail "$1" /verify-email)\"}"
    [ "$STATUS" = 200 ] || give_up "its address can be confirmed" "$STATUS $BODY"
}
log_in() { ask POST /api/auth/login "{\"email\":\"$1\",\"password\":\"${2:-$password}\"}"; } # ADDRESS [PASSWORD]

# -------------------------------------------------------------------------------------------------------------------

finish() {
    local status=$? pid
    trap '' INT TERM HUP
    [ -n "$complete" ] || not_ok "the script came to its end" "it stopped with status $status"
    for pid in "${!server_log[@]}"; do stop_server "$pid"; done
    [ -z "$provider_pid" ] || kill "$provider_pid" 2>/dev/null
    echo "1..$checks"
    [ -z "$own_services" ] || "$e2e/services" remove
    rm -rf "$work"
    if [ -n "$own_dir" ]; then
        if [ "$failures" -eq 0 ]; then rm -rf "$own_dir"; else echo "# logs: $logs"; fi
    fi
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}

if [ -z "${E2E_DIR:-}" ]; then
    E2E_DIR=$(mktemp -d "${TMPDIR:-/tmp}/labs-auth-e2e.XXXXXX") || exit 1
    own_dir=$E2E_DIR
fi
export E2E_DIR
logs=$E2E_DIR/logs/$script
work=$E2E_DIR/$script
mkdir -p "$logs" "$work"
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2034 # used by the scripts
{
    frontend=https://app.example.test
    password='violet anchor seldom 47 harvest'
    secret_key=$(node -p 'crypto.randomBytes(32).toString("base64url")')
}
