#!/usr/bin/env bash
# Fifty at once over two processes with one PostgreSQL and one Redis: one winner where the contract has one, and never a 5xx.
. "$(dirname "$0")/tap.sh"
need_services
redis() { "$e2e/services" redis-cli -n 14 "$@"; }
redis FLUSHDB >/dev/null || give_up "Redis can be emptied"
anna=anna.$RANDOM@example.com
cora=cora.$RANDOM@example.com
service_key=$(node -p 'crypto.randomBytes(32).toString("base64url")')

start_provider "$cora"

# Ten mails a minute for one mailbox would leave no race between fifty requests for it.
printf '[buckets.auth-email]\nquota = 1000\n' >"$work/limits.toml"
database=$("$e2e/services" database e2e_races)
worker=(DATABASE_URL="$database" RATE_LIMIT_POLICIES="$work/limits.toml" SERVICE_KEYS="$service_key"
    REDIS_ENABLED=true REDIS_URL="redis://127.0.0.1:$REDIS_PORT/14"
    MAGIC_LINK_ALLOW_SIGNUP=true PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR=1000
    INFOMANIAK_ISSUER="$provider" INFOMANIAK_CLIENT_ID=labs
    INFOMANIAK_CLIENT_SECRET='a secret between the two of them')
start_server first "${worker[@]}"
first=$BASE_URL
start_server second "${worker[@]}"
second=$BASE_URL

# Fifty at once, half of them to each worker. Prints the outcomes; `won` then reads from the answer of the first 200.
storm() { # METHOD PATH BODY [HEADER…]
    local method=$1 path=$2 body=$3
    shift 3
    STORM_ANSWERS=$work/storm.json node "$e2e/wire/storm.mjs" 50 "$method" "$path" "$body" "$first" "$second" -- "$@"
}
answers() { node -p "const all = JSON.parse(require('fs').readFileSync(process.argv[1])); $1" "$work/storm.json"; } # EXPRESSION
won() { # FIELD
    BODY=$(answers 'all.find((it) => it.status === 200)?.body ?? "{}"')
    field "$1"
}
winner() { answers 'all.find((it) => it.status === 200)?.number'; }
bearer() { echo "Authorization: Bearer $1"; }
of_body() { node -p "JSON.parse(process.argv[1]).$1" "$BODY"; }
sessions() { # ACCESS      how many are open
    ask GET /api/auth/sessions '' -H "$(bearer "$1")"
    of_body sessions.length
}
one_winner='1x200 49x400'

mails_of() { node "$e2e/smtp/mails.mjs" count "$MAIL_DIR" "$1"; }
has_mails() { [ "$(mails_of "$1")" -ge "$2" ]; }

# Connections to the database are dear to open. What follows is about rows and not about them.
is "50 bad tokens" "50x400" "$(storm POST /api/auth/verify-magic-link '{"token":"x"}')"

# --- passwords -----------------------------------------------------------------------------------------------------

is "50 registrations of one mailbox" "50x201" \
    "$(storm POST /api/auth/register "{\"email\":\"$anna\",\"password\":\"$password\"}")"
# The first mailed a link to confirm; the others took back the password that it had brought.
token=$(token_from_mail "$anna" /verify-email)
is "50 confirmations by one link: the same for all" "50x200" "$(storm POST /api/auth/verify-email "{\"token\":\"$token\"}")"
token=$(token_from_mail "$anna" /set-password)
wait_until 30 has_mails "$anna" 6
is "50 first passwords by one link" "$one_winner" \
    "$(storm POST /api/auth/set-password "{\"token\":\"$token\",\"password\":\"Chosen-Horse-%n!\"}")"
access=$(won access_token)
is "one session" 1 "$(sessions "$access")"
ask GET /api/auth/workspaces '' -H "$(bearer "$access")"
is "one workspace" "200 1" "$STATUS $(of_body 'workspaces.length')"

make_account "$cora"
CLIENT=203.0.113.14
ask POST /api/auth/forgot-password "{\"email\":\"$cora\"}"
token=$(token_from_mail "$cora" /reset-password)
is "50 resets by one link" "$one_winner" \
    "$(storm POST /api/auth/reset-password "{\"token\":\"$token\",\"new_password\":\"Chosen-Horse-%n!\"}")"
winner=$(winner)
log_in "$cora" "Chosen-Horse-$winner!"
is "the winner's password signs in" 200 "$STATUS"
access=$(field access_token)
is "50 changes of one password" "$one_winner" "$(storm POST /api/auth/change-password \
    "{\"current_password\":\"Chosen-Horse-$winner!\",\"new_password\":\"Another-Horse-%n!\"}" "$(bearer "$access")")"
winner=$(winner)
log_in "$cora" "Another-Horse-$winner!"
is "the winner's password signs in again" 200 "$STATUS"
access=$(field access_token)
refresh=$(field refresh_token)

is "one link to confirm and five to choose a password were mailed, no more" 6 "$(mails_of "$anna")"

# --- sessions ------------------------------------------------------------------------------------------------------

is "50 refreshes with one token, inside its grace" "50x200" "$(storm POST /api/auth/refresh "{\"refresh_token\":\"$refresh\"}")"
is "each with a successor of its own" 50 "$(answers 'new Set(all.map((it) => JSON.parse(it.body).refresh_token)).size')"
is "in one session each" 2 "$(sessions "$access")"
successor=$(won refresh_token)
ask POST /api/auth/refresh "{\"refresh_token\":\"$successor\"}"
is "a successor works" 200 "$STATUS"
is "after which the first token ends the session, whoever of 50 comes" "50x401" \
    "$(storm POST /api/auth/refresh "{\"refresh_token\":\"$refresh\"}")"
ask GET /api/auth/me '' -H "$(bearer "$access")"
is "for its owner too" "401 AUTH_004" "$STATUS $(field code)"

log_in "$cora" "Another-Horse-$winner!"
access=$(field access_token)
cookie=$(header Set-Cookie | sed -n 's/^\(labs_refresh=[^;]*\);.*/\1/p')
ask POST /api/auth/ws-ticket '' -H "$(bearer "$access")"
is "50 redemptions of one socket ticket" "$one_winner" \
    "$(storm POST /api/auth/ws-ticket/redeem "{\"ticket\":\"$(field ticket)\"}" "Authorization: Bearer $service_key")"

# --- the other ways in ---------------------------------------------------------------------------------------------

before=$(sessions "$access")
ask POST /api/auth/request-magic-link "{\"email\":\"$cora\"}"
token=$(token_from_mail "$cora" /magic-link)
is "50 redemptions of one link" "$one_winner" "$(storm POST /api/auth/verify-magic-link "{\"token\":\"$token\"}")"
before_code=$(mails_of "$cora")
ask POST /api/auth/request-magic-link "{\"email\":\"$cora\"}"
handle=$(field handle)
wait_until 30 has_mails "$cora" $((before_code + 1)) || give_up "the mail with the code arrives"
newest=$(grep -rl "^To:.*$cora" "$MAIL_DIR" | xargs grep -lE '^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}' | xargs ls -t | head -n 1)
code=$(grep -m1 -oE '^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}' "$newest")
is "50 redemptions of one code" "$one_winner" \
    "$(storm POST /api/auth/verify-magic-link "{\"handle\":\"$handle\",\"code\":\"$code\"}")"
is "two sessions more" "$((before + 2))" "$(sessions "$access")"

verifier=$(node -p 'crypto.randomBytes(32).toString("base64url")')
challenge=$(node -p 'crypto.createHash("sha256").update(process.argv[1]).digest("base64url")' "$verifier")
ask GET "/api/auth/cli-login?port=4321&state=a-state-of-the-client&code_challenge=$challenge&name=laptop" '' -H "Cookie: $cookie"
csrf=$(sed -n 's/.*name="csrf" value="\([^"]*\)".*/\1/p' <<<"$BODY")
ask POST /api/auth/cli-login '' -H "Cookie: $cookie" --data-urlencode "csrf=$csrf" --data "port=4321&state=a-state-of-the-client" \
    --data "code_challenge=$challenge&name=laptop&decision=allow"
code=$(header Location | sed -n 's/.*[?&]code=\([A-Za-z0-9_-]*\).*/\1/p')
is "50 redemptions of one code of the command line" "$one_winner" \
    "$(storm POST /api/auth/verify-magic-link "{\"token\":\"$code\",\"code_verifier\":\"$verifier\"}")"
is "one session more" "$((before + 3))" "$(sessions "$access")"

walk
is "50 returns with one state" "49x302 $frontend/login 1x302 $frontend/magic-link" \
    "$(storm GET "$RETURN" '' "Cookie: $OURS")"
token=$(answers 'new URL(all.find((it) => it.location.includes("token=")).location).searchParams.get("token")')
is "50 redemptions of its hand-off" "$one_winner" "$(storm POST /api/auth/verify-magic-link "{\"token\":\"$token\"}")"
is "which is one session more" "$((before + 4))" "$(sessions "$access")"

# --- newcomers -----------------------------------------------------------------------------------------------------

newcomer=newcomer.$RANDOM@example.com
is "50 requests for a mailbox without an account" "50x202" \
    "$(storm POST /api/auth/request-magic-link "{\"email\":\"$newcomer\"}")"
wait_until 30 has_mails "$newcomer" 5
token=$(token_from_mail "$newcomer" /magic-link)
is "50 redemptions of a newcomer's link" "$one_winner" "$(storm POST /api/auth/verify-magic-link "{\"token\":\"$token\"}")"
is "five links were mailed, no more" 5 "$(mails_of "$newcomer")"
dora=dora.$RANDOM@example.com
is "50 developers' sign-ups of one mailbox" "50x202" "$(storm POST /api/prima/v1/accounts "{\"email\":\"$dora\"}")"
wait_until 30 has_mails "$dora" 5
token=$(node "$e2e/smtp/mails.mjs" token "$MAIL_DIR" "$dora" "$frontend/developers/verify")
is "50 confirmations of one of them" "1x201 49x400" "$(storm POST /api/prima/v1/accounts/verify "{\"token\":\"$token\"}")"
is "five links were mailed to it too" 5 "$(mails_of "$dora")"
done_testing
