#!/usr/bin/env bash
# The limiter as its operator sees it: policies from a file and on SIGHUP, networks, the commands, the metrics.
. "$(dirname "$0")/tap.sh"
need_services
redis() { "$e2e/services" redis-cli -n 10 "$@"; }
redis FLUSHDB >/dev/null || give_up "Redis can be emptied"
policies=$work/limits.toml
metrics=$(free_port)
redis_url=redis://127.0.0.1:$REDIS_PORT/10
settings=(REDIS_ENABLED=true REDIS_URL="$redis_url" RATE_LIMIT_POLICIES="$policies" METRICS_ADDR="127.0.0.1:$metrics")

# The binary's commands, with the server's settings.
command_line() { # ARGUMENTS…
    (cd "$work" && env -i PATH="$PATH" HOME="$work" ENVIRONMENT=production SECRET_KEY="$secret_key" \
        DATABASE_URL="sqlite://$work/doctor.db" MAIL_URL=smtp://127.0.0.1:9 MAIL_FROM=labs@example.test \
        FRONTEND_URL="$frontend" API_BASE_URL=https://api.example.test "${settings[@]}" "${E2E_BINARY:?}" "$@" 2>&1)
}

cat >"$policies" <<'TOML'
[buckets.auth]
quota = 0
[networks]
never = ["somewhere"]
TOML
said=$(command_line serve)
is "a broken file stops the start" 1 $?
matches "and names line and field of each fault" 'line 2: buckets.auth.quota .*line 4: networks.never' "$said"

cat >"$policies" <<'TOML'
[buckets.auth]
quota = 5
[networks]
always = ["198.51.100.77"]
never = ["198.51.100.66"]
TOML
start_server limits "${settings[@]}"
on_redis() { ask GET /health/detailed && [ "$(field rate_limit_backend)" = redis ]; }
wait_until 5 on_redis || true
CLIENT=198.51.100.1
is "the file's quota holds" "5x422 1x429" "$(many 6 POST /api/auth/login '{}')"
CLIENT=198.51.100.77
is "a network that is counted nowhere" 40x422 "$(many 40 POST /api/auth/login '{}')"
CLIENT=198.51.100.66
ask POST /api/auth/login '{}'
is "a network that is shut out" "429 3600" "$STATUS $(header retry-after)"

printf '[buckets.auth]\nquota = 8\n' >"$policies"
kill -HUP "$PID"
wait_until 5 grep -q 'policies read again' "$LOG" || true
CLIENT=198.51.100.1
is "after SIGHUP the new quota holds and the count stays" "3x422 1x429" "$(many 4 POST /api/auth/login '{}')"
printf '[buckets.auth]\nquota = many\n' >"$policies"
kill -HUP "$PID"
is "a broken file is refused with its line" yes "$(wait_until 5 grep -q 'the old ones stay: line 2' "$LOG" && echo yes)"
CLIENT=198.51.100.2
is "and the old one stays" "8x422 1x429" "$(many 9 POST /api/auth/login '{}')"

printf '[buckets.auth]\nquota = 8\n' >"$policies"
key=rate_limit:auth:/api/auth/login:198.51.100.1
is "limits list" "$key" "$(command_line limits list --pattern 'auth:*.1')"
matches "limits show" "$key  8  for [0-9]+ ms" "$(command_line limits show $key)"
matches "limits explain" "auth .*$key: refused for .*Retry-After: [0-9]+" \
    "$(command_line limits explain --ip 198.51.100.1 --path /api/auth/login)"
matches "limits reset" '^1 reset' "$(command_line limits reset --ip 198.51.100.1)"
admitted_again() { CLIENT=198.51.100.1 ask POST /api/auth/login '{}' && [ "$STATUS" = 422 ]; }
is "the server sees it within a second" yes "$(wait_until 2 admitted_again && echo yes)"
matches "doctor" 'redis     reached' "$(command_line doctor)"
settings=(REDIS_ENABLED=true REDIS_URL=redis://127.0.0.1:9/0)
said=$(command_line limits list)
is "without Redis the command exits with 2" 2 $?
matches "and names the wait" 'memory; what they count ends within 3600 s' "$said"

text=$(curl -s "http://127.0.0.1:$metrics/metrics")
matches "metrics count decisions" 'decisions_total\{policy="auth",outcome="refused",store="(redis|process)"\} [1-9]' "$text"
lacks "and name no client" "$text" 198.51.100
is "nothing but the metrics is served there" 404 "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$metrics/health")"
ask GET /metrics
is "and no metrics where clients are" 404 "$STATUS"
stop_server "$PID"
done_testing
