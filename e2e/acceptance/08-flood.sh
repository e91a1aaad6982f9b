#!/usr/bin/env bash
# Acceptance check 8: a thousand requests a minute per client under /api, known route or not, outside /api/auth.
. "$(dirname "$0")/tap.sh"
use_server

CLIENT=203.0.113.1
is "1001 x a path this service does not own" "1000x404 1x429" "$(many 1001 GET /api/forms/templates)"
ask GET /api/forms/templates
is "the refusal's body, to the letter" '{"error":"rate_limit_exceeded","message":"Too many requests. Please slow down."}' "$BODY"

lines=$(curl -s -i -H "X-Forwarded-For: $CLIENT" -H 'Origin: https://prima.li' "$BASE_URL/api/forms/templates" | tr -d '\r' |
    grep -i "^access-control-allow-origin\|^x-request-id\|^retry-after\|^x-frame-options")
is "the refusal wears all four headers" 4 "$(grep -c . <<<"$lines")"
for name in access-control-allow-origin x-request-id retry-after x-frame-options; do
    is "one of them is $name" 1 "$(grep -ci "^$name: ." <<<"$lines")"
done
is "the origin is the asking one" https://prima.li "$(sed -n 's/^access-control-allow-origin: //Ip' <<<"$lines")"
ask GET /api/forms/templates '' -H 'Origin: https://evil.example'
is "a foreign origin reads nothing" "429 " "$STATUS $(header Access-Control-Allow-Origin)"

is "1001 x /api/auth/me without a session" 1001x401 "$(many 1001 GET /api/auth/me)"
for path in /health /health/detailed /api/health /api/health/detailed; do
    ask GET $path
    is "$path is not counted" 200 "$STATUS"
done
for path in /api/healthX /api/health/x /api/authx; do
    ask GET $path
    is "$path is counted" 429 "$STATUS"
done
ask OPTIONS /api/forms/templates '' -H 'Origin: https://prima.li' -H 'Access-Control-Request-Method: GET'
is "a preflight is not counted" "200 https://prima.li" "$STATUS $(header Access-Control-Allow-Origin)"
ask OPTIONS /api/forms/templates
is "any other OPTIONS is" 429 "$STATUS"

# Case 289: dot segments lend nobody the exemption of /api/health.
CLIENT=203.0.113.2
is "1001 x /api/health/../x" "1000x404 1x429" "$(many 1001 GET /api/health/../x)"
ask POST /api/health/../auth/login '{}'
is "nor a way to another route" 429 "$STATUS"
CLIENT=203.0.113.3 ask POST /api/health/../auth/login '{}'
is "which is not found" 404 "$STATUS"

# The public embeds have a smaller budget besides.
CLIENT=203.0.113.4
is "241 x a public embed" "240x404 1x429" "$(many 241 GET /api/public/x)"
ask GET /api/forms/templates
is "which leaves the rest of the API open" 404 "$STATUS"
done_testing
