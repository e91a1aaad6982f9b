#!/usr/bin/env bash
# Acceptance check 9: two processes count as one while Redis answers, each for itself while it does not.
. "$(dirname "$0")/tap.sh"
need_services
redis() { "$e2e/services" redis-cli -n 9 "$@"; }
redis FLUSHDB >/dev/null || give_up "Redis can be emptied"
database=$("$e2e/services" database e2e_redis)
worker=(DATABASE_URL="$database" REDIS_ENABLED=true REDIS_URL="redis://127.0.0.1:$REDIS_PORT/9")

start_server first "${worker[@]}"
first=$BASE_URL
start_server second "${worker[@]}"
second=$BASE_URL

detail() { BASE_URL=$1 ask GET /health/detailed && field "$2"; } # WORKER FIELD
backend_is() { [ "$(detail "$1" rate_limit_backend)" = "$2" ]; }
both_use() { backend_is "$first" "$1" && backend_is "$second" "$1"; }
wait_until 5 both_use redis || true
is "both workers count in Redis" "redis redis" "$(detail "$first" rate_limit_backend) $(detail "$second" rate_limit_backend)"

# The same request, from one worker to the other and back.
alternate() { # COUNT PATH BODY
    local i
    for i in $(seq 1 "$1"); do
        BASE_URL=$first
        [ $((i % 2)) -eq 1 ] || BASE_URL=$second
        ask POST "$2" "$3"
        echo "$STATUS"
    done | runs
}
CLIENT=198.51.100.1
is "31 x login over two workers" "30x422 1x429" "$(alternate 31 /api/auth/login '{}')"
is "31 x register, a budget of its own" "30x422 1x429" "$(alternate 31 /api/auth/register '{}')"

statuses=$(for i in $(seq 1 11); do
    BASE_URL=$first
    [ $((i % 2)) -eq 1 ] || BASE_URL=$second
    CLIENT=203.0.113.$i ask POST /api/auth/forgot-password '{"email":"somebody@example.com"}'
    echo "$STATUS"
done | runs)
is "eleven mails for one mailbox over two workers" "10x202 1x429" "$statuses"

# What Redis holds: one key per path and client, a count that lives as long as its window.
expected=$({
    echo rate_limit:auth:/api/auth/login:198.51.100.1
    echo rate_limit:auth:/api/auth/register:198.51.100.1
    for i in $(seq 1 11); do echo "rate_limit:auth:/api/auth/forgot-password:203.0.113.$i"; done
} | sort)
is "one key per path and client" "$expected" "$(redis --scan --pattern 'rate_limit:auth:*' | sort)"
is "one key for the mailbox" rate_limit:auth_email:password-reset:somebody@example.com \
    "$(redis --scan --pattern 'rate_limit:auth_email:*')"
outside=$(for key in $(redis --scan --pattern 'rate_limit:*'); do
    ttl=$(redis TTL "$key")
    [ "$ttl" -ge 1 ] && [ "$ttl" -le 60 ] || echo "$key $ttl"
done)
is "every key lives 1 to 60 seconds" "" "$outside"
matches "its value is the count" '^3[01]$' "$(redis GET rate_limit:auth:/api/auth/login:198.51.100.1)"

# A key that lost its end is not a refusal for ever. A worker that has just refused this client may answer from its own
# memory for a second, so it is asked until it asks Redis.
register=rate_limit:auth:/api/auth/register:198.51.100.1
redis PERSIST "$register" >/dev/null
ends() {
    BASE_URL=$first ask POST /api/auth/register '{}'
    ttl=$(redis TTL "$register")
    [ "$ttl" -ge 0 ]
}
wait_until 5 ends || true
matches "a key without an end gets one again" '^([1-9]|[1-5][0-9]|60)$' "$ttl"

# Redis goes away. Nobody is refused for it and nobody waits; each worker counts for itself.
"$e2e/services" stop redis || give_up "Redis can be stopped"
CLIENT=198.51.100.2
for BASE_URL in "$first" "$second"; do
    answers=$(for _ in $(seq 1 31); do
        curl -s -o /dev/null -w '%{http_code} %{time_total}\n' -X POST -H 'Content-Type: application/json' \
            -H "X-Forwarded-For: $CLIENT" -d '{}' "$BASE_URL/api/auth/login"
    done)
    is "31 x login without Redis, one worker's own count" "30x422 1x429" "$(cut -d' ' -f1 <<<"$answers" | runs)"
    at_most "the slowest of them, in seconds" 1 "$(cut -d' ' -f2 <<<"$answers" | sort -g | tail -n 1)"
done
wait_until 5 both_use memory || true
is "within five seconds both say so" "memory memory" \
    "$(detail "$first" rate_limit_backend) $(detail "$second" rate_limit_backend)"
is "what is stored elsewhere is degraded, not down" "degraded unreachable 200" \
    "$(detail "$first" status) $(detail "$first" redis) $(BASE_URL=$first ask GET /health/detailed && echo "$STATUS")"

start_server third "${worker[@]}"
third=$BASE_URL
is "a worker that starts without Redis serves from memory" memory "$(detail "$third" rate_limit_backend)"
CLIENT=198.51.100.3
is "and counts" "30x422 1x429" "$(many 31 POST /api/auth/login '{}')"

# Redis comes back, empty.
"$e2e/services" start redis || give_up "Redis can be started again"
all_use_redis() { both_use redis && backend_is "$third" redis; }
wait_until 5 all_use_redis || true
is "within five seconds all count in Redis again" "redis redis redis" \
    "$(detail "$first" rate_limit_backend) $(detail "$second" rate_limit_backend) $(detail "$third" rate_limit_backend)"
CLIENT=198.51.100.4
is "31 x login, shared again" "30x422 1x429" "$(alternate 31 /api/auth/login '{}')"
is "counted in Redis" rate_limit:auth:/api/auth/login:198.51.100.4 \
    "$(redis --scan --pattern 'rate_limit:auth:*:198.51.100.4')"
done_testing
