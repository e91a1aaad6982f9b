#!/usr/bin/env bash
# Cases 297 and 199: the database goes away and comes back; the service says so, gives nothing away, and recovers.
. "$(dirname "$0")/tap.sh"
need_services
start_server server DATABASE_URL="$("$e2e/services" database e2e_outage)"
# Every request from another client: what is tried here is not the limiter.
client() { CLIENT=198.18.$((RANDOM % 256)).$((RANDOM % 256)); }
client
address=outage.$RANDOM@example.com
make_account "$address"
log_in "$address"
is "login" 200 "$STATUS"
access=$(field access_token)
ask GET /health/detailed
is "the database is healthy" "200 healthy postgres" "$STATUS $(field database) $(field details.database.backend)"

"$e2e/services" stop postgres || give_up "PostgreSQL can be stopped"
inside=(":$POSTGRES_PORT" "$POSTGRES_USER" "$POSTGRES_PASSWORD" e2e_outage 127.0.0.1 localhost postgres:// SELECT INSERT \
    sqlx refused 'os error' 'No such file' "$E2E_DIR")
for attempt in first second; do
    client
    log_in "$address"
    is "login, $attempt attempt" "503 SYS_002" "$STATUS $(field code)"
    is "the sentence" "The service is temporarily unavailable." "$(field error)"
    is "the envelope" "code details error request_id timestamp" "$(field)"
    matches "it says when to come back" '^[1-9][0-9]*$' "$(header Retry-After)"
    lacks "it gives nothing away" "$BODY$HEADERS" "${inside[@]}"
done
ask GET /api/auth/me '' -H "Authorization: Bearer $access"
is "me is not a sign-out" "503 SYS_002" "$STATUS $(field code)"
client
ask POST /api/auth/login '{}'
is "what needs no database is answered" 422 "$STATUS"
ask GET /health
is "liveness asks nobody" '200 {"status":"healthy"}' "$STATUS $BODY"
unhealthy() { ask GET /health/detailed && [ "$STATUS" = 503 ]; }
wait_until 5 unhealthy
matches "the detailed health" '^503 unhealthy un(reachable|healthy)$' "$STATUS $(field status) $(field database)"
lacks "gives nothing away either" "$BODY$HEADERS" "${inside[@]}"

# Case 199: it accepts again, and so the very next request is answered.
"$e2e/services" start postgres || give_up "PostgreSQL can be started again"
client
log_in "$address" 'not the password'
is "a wrong password, the first request after the restart" 401 "$STATUS"
log_in "$address"
is "the right one" 200 "$STATUS"
ask GET /api/auth/me '' -H "Authorization: Bearer $access"
is "the session from before" 200 "$STATUS"
healthy_again() { ask GET /health/detailed && [ "$STATUS" = 200 ]; }
wait_until 5 healthy_again
is "the detailed health is back" "200 healthy" "$STATUS $(field database)"
done_testing
 "$STATUS $(field status) $(field database)"
lacks "gives nothing away either" "$BODY$HEADERS" "${inside[@]}"

# Case 199: it accepts again, and so the very next request is answered.
"$e2e/services" start postgres || give_up "PostgreSQL can be started again"
client
log_in "$address" 'not the password'
is "a wrong password, the first request after the restart" 401 "$STATUS"
log_in "$address"
is "the right one" 200 "$STATUS"
ask GET /api/auth/me '' -H "Authorization: Bearer $access"
is "the session from before" 200 "$STATUS"
healthy_again() { ask GET /health/detailed && [ "$STATUS" = 200 ]; }
wait_until 5 healthy_again
is "the detailed health is back" "200 healthy" "$STATUS $(field database)"
done_testing
