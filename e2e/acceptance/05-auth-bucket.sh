#!/usr/bin/env bash
# Acceptance checks 5 and 6: thirty requests a minute per path and client.
. "$(dirname "$0")/tap.sh"
use_server

# Check 5, as written: one client, no forwarding header, a new connection each time.
thirty_one() { # PATH
    for _ in $(seq 1 31); do
        curl -s -o /dev/null -w "%{http_code}\n" -X POST -H "Content-Type: application/json" -d '{}' "$BASE_URL$1"
    done | runs
}
is "31 x login" "30x422 1x429" "$(thirty_one /api/auth/login)"

lines=$(curl -s -i -X POST -H "Content-Type: application/json" -d '{}' "$BASE_URL/api/auth/login" | grep -i "retry-after\|Too many")
is "the refusal prints two lines" 2 "$(grep -c . <<<"$lines")"
matches "retry-after comes first, with 1 to 60 seconds" $'^[Rr]etry-[Aa]fter: ([1-9]|[1-5][0-9]|60)\r?\n' "$lines"
matches "then the sentence" '"error": ?"Too many authentication attempts\. Please try again later\."' "$lines"

is "31 x register, a budget of its own" "30x422 1x429" "$(thirty_one /api/auth/register)"

# The whole of the refusal.
ask POST /api/auth/login '{}'
is "the body has the five keys of the envelope" "code details error request_id timestamp" "$(field)"
is "its code" RATE_001 "$(field code)"
is "its details" null "$(field details)"
is "its request id is the header's" "$(header X-Request-ID)" "$(field request_id)"
is "it is not stored" no-store "$(header Cache-Control)"
matches "it names the policy" '"auth";q=30;w=60' "$(header RateLimit-Policy)"
is "nothing remains" 0 "$(header X-RateLimit-Remaining)"
is "no cross-origin header without an origin" "" "$(grep -i '^access-control-' <<<"$HEADERS")"

# A path written otherwise opens no second budget.
for path in //api/auth/login /api//auth/login /api/auth//login '/api/auth/login;x' /api/auth/webauthn/%2e%2e/login; do
    ask POST "$path" '{}'
    is "POST $path is not a route" 404 "$STATUS"
done
ask POST /api/auth/login/ '{}'
is "a trailing slash is redirected" "307 /api/auth/login" "$STATUS $(header Location)"
ask POST '/api/auth/login?x=1' '{}'
is "a query opens no second budget" 429 "$STATUS"

# Check 6: another reported client is another bucket.
ask POST /api/auth/login '{"email":"somebody@example.com","password":"x"}' -H 'X-Forwarded-For: 203.0.113.99'
matches "another client is answered" '^(401|422)$' "$STATUS"

# What is not JSON spends nothing; a wrong token is a bad token, not an invalid body.
CLIENT=203.0.113.98
is "40 x a body that is not JSON" 40x422 "$(many 40 POST /api/auth/verify-email '{')"
is "31 x a wrong token" "30x400 1x429" "$(many 31 POST /api/auth/verify-email '{"token":"x"}')"
done_testing
