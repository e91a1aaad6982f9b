#!/usr/bin/env bash
# A developer's way: sign up, prove the mailbox, use the key, manage keys; a sibling service that checks one; what an operator sees.
. "$(dirname "$0")/tap.sh"
need_services
service_key=$(node -p 'crypto.randomBytes(32).toString("hex")')
database=$("$e2e/services" database e2e_developer)
start_server server DATABASE_URL="$database" SERVICE_KEYS="$service_key"
accounts=/api/prima/v1/accounts keys=/api/prima/v1/keys
bearer() { echo "Authorization: Bearer $1"; }
labs_auth() { (cd "$work" && env -i PATH="$PATH" HOME="$work" DATABASE_URL="$database" "${E2E_BINARY:?}" "$@") 2>>"$logs/commands.log"; }
prove() { # ADDRESS
    ask POST $accounts/verify "{\"token\":\"$(token_from_mail "$1" /developers/verify)\"}"
}
introspect() { # KEY [SERVICE KEY]
    ask POST $keys/introspect "{\"key\":\"$1\"}" -H "$(bearer "${2:-$service_key}")"
}

# Hourly caps: the sixth from one client, the fourth for one mailbox.
CLIENT=198.51.100.1
statuses=$(for i in $(seq 1 6); do
    ask POST $accounts "{\"email\":\"dev$i@example.com\"}"
    echo "$STATUS"
done | runs)
is "six sign-ups of one client" "5x202 1x429" "$statuses"
ask POST $accounts '{"email":"dev7@example.com"}'
is "in the gateway's shape" "rate_limit_error RATE_001 null" "$(field error.type) $(field error.code) $(field error.param)"
is "the sentence" "Too many signup attempts. Please try again later." "$(field error.message)"
matches "it says when to come back" '^3[56][0-9][0-9]$' "$(header Retry-After)"
matches "and which budget is spent" '"signup-ip";r=0;t=3[56][0-9][0-9]' "$(header RateLimit)"
statuses=$(for i in $(seq 1 4); do
    CLIENT=198.51.100.1$i ask POST $accounts '{"email":"crowd@example.com"}'
    echo "$STATUS"
done | runs)
is "four sign-ups for one mailbox" "3x202 1x429" "$statuses"
CLIENT=198.51.100.20
is "40 bodies that are not JSON spend nothing" 40x422 "$(many 40 POST $accounts 'not json')"
ask POST $accounts '{"email":"nobody"}'
is "a faulty field is named" "422 email invalid_request_error VAL_001" "$STATUS $(field error.param) $(field error.type) $(field error.code)"
matches "and what is wrong with it" '^value is not a valid email address: .*\.$' "$(field error.message)"
ask GET /api/prima/v1/nothing
is "an unknown path of the prefix" "404 not_found_error" "$STATUS $(field error.type)"

# From an address to a key.
CLIENT=198.51.100.30
dora=dora.$RANDOM@example.com
ask POST $accounts "{\"email\":\"$dora\",\"name\":\"Dora\",\"company\":\"Dora AG\"}"
is "sign-up" "202 pending_verification $dora 86400" "$STATUS $(field status) $(field email) $(field expires_in)"
prove "$dora"
is "the link gives account and key" "201 active Default" "$STATUS $(field status) $(field api_key.name)"
is "it is not stored on the way" no-store "$(header Cache-Control)"
is "and sets no cookie" "" "$(header Set-Cookie)"
key=$(field api_key.key)
key_id=$(field api_key.id)
account=$(field id)
workspace=$(field workspace_id)
matches "the key" '^sk-prima-[A-Za-z0-9_-]{43}[A-Za-z0-9]{6}$' "$key"
prove "$dora"
is "the link works once" "400 AUTH_006" "$STATUS $(field error.code)"
ask GET /api/auth/me '' -H "$(bearer "$key")"
is "the key answers as the developer" "200 $dora api_key $workspace" "$STATUS $(field email) $(field auth_method) $(field workspace.id)"
ask GET $keys '' -H "$(bearer "$key")"
is "and opens no other route" "401 AUTH_004" "$STATUS $(field error.code)"

# A sibling service.
introspect "$key"
is "a sibling learns whose key it is" "200 true $account $workspace $key_id" \
    "$STATUS $(field active) $(field account_id) $(field workspace_id) $(field key_id)"
introspect "${key%?}"
is "a mistyped key" '200 {"active":false}' "$STATUS $BODY"
is "2,000 checks within a minute" 2000x200 "$(many 2000 POST $keys/introspect "{\"key\":\"$key\"}" -H "$(bearer "$service_key")")"
introspect "$key" "$key"
is "somebody who is no sibling" "401 AUTH_002" "$STATUS $(field error.code)"
is "is held back" "29x401 1x429" "$(many 30 POST $keys/introspect "{\"key\":\"$key\"}")"
introspect "$key"
is "and the sibling beside him is not" 200 "$STATUS"

# The owner, signed in.
anna=anna.$RANDOM@example.com
make_account "$anna"
log_in "$anna"
access=$(field access_token)
ask POST $keys '{"name":"CI","scopes":["deploy"]}' -H "$(bearer "$access")"
is "making a key" "201 CI" "$STATUS $(field name)"
ci_id=$(field id) ci=$(field key)
ask PATCH "$keys/$ci_id" '{"name":"Build"}' -H "$(bearer "$access")"
is "changing it" "200 Build" "$STATUS $(field name)"
ask DELETE "$keys/$key_id" '' -H "$(bearer "$access")"
is "another person's key is not there" "404 RES_001" "$STATUS $(field error.code)"
ask POST "$keys/$ci_id/rotate" '{"grace_days":1}' -H "$(bearer "$access")"
is "rotating it" "201 Build" "$STATUS $(field name)"
new=$(field key)
introspect "$ci"
is "the old key lives on for its grace" true "$(field active)"
introspect "$new"
is "the new one lives" true "$(field active)"
ask DELETE "$keys/$ci_id" '' -H "$(bearer "$access")"
is "revoking" 204 "$STATUS"
introspect "$ci"
is "acts at once" '{"active":false}' "$BODY"

# The operator.
listed=$(labs_auth keys list --email "$dora")
matches "keys list" "${key_id}[[:space:]]+${key:0:13}…[[:space:]]+active[[:space:]]+$dora" "$listed"
lacks "shows no key" "$listed" "$key"
labs_auth keys revoke "$key_id" >/dev/null
is "keys revoke" 0 $?
introspect "$key"
is "acts at once, too" '{"active":false}' "$BODY"
labs_auth keys revoke "$key_id" >/dev/null
is "there is nothing to revoke twice" 1 $?

code=$(labs_auth invites create --uses 1 --days 1 --note workshop)
matches "invites create prints a code" '^[A-Za-z0-9_-]{43}$' "$code"
CLIENT=198.51.100.40
emil=emil.$RANDOM@example.com
ask POST $accounts "{\"email\":\"$emil\"}"
is "now sign-up is by invitation" "403 permission_error SIGNUP_001" "$STATUS $(field error.type) $(field error.code)"
ask POST $accounts "{\"email\":\"$emil\",\"invite_code\":\"$code\"}"
is "the code opens the gate" 202 "$STATUS"
prove "$emil"
is "and is used when the mailbox is proved" 201 "$STATUS"
listed=$(labs_auth invites list)
matches "invites list" "${code:0:6}…[[:space:]]+used up[[:space:]]+1/1 .*workshop" "$listed"
lacks "shows no code" "$listed" "$code"
invitation=$(awk 'NR == 2 { print $1 }' <<<"$listed")
labs_auth invites revoke "$invitation" >/dev/null
is "invites revoke" 0 $?
lacks "the log holds no key, code or address" "$(cat "$LOG")" "$key" "$ci" "$new" "$code" "$service_key" "$dora" "$emil"
done_testing
