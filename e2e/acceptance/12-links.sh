#!/usr/bin/env bash
# Mailed links: the mailbox's budget (check 7), bad tokens (the end of check 8), link and code, one ticket.
. "$(dirname "$0")/tap.sh"
need_services
[ -n "${BASE_URL:-}" ] || start_server server DATABASE_URL="$("$e2e/services" database e2e_links)"
CLIENT=203.0.113.12
anna=anna.$RANDOM@example.com
make_account "$anna"

ask POST /api/auth/request-magic-link "{\"email\":\"$anna\"}" -A 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
is "a link is asked for" 202 "$STATUS"
is "the answer" "handle message" "$(field)"
handle=$(field handle)
sentence=$(field message)
ask POST /api/auth/request-magic-link '{"email":"nobody@example.com"}'
is "for an unknown mailbox, the same" "202 handle message $sentence" "$STATUS $(field) $(field message)"
token=$(token_from_mail "$anna" /magic-link)
matches "the mail carries a link" '^[A-Za-z0-9_-]{43}$' "$token"
code=$(grep -rhoE '^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}' "$MAIL_DIR" | tail -n 1)
matches "and a code" '^.{4}-.{4}$' "$code"
is "and says who asked" 0 "$(grep -rqF "203.0.113.12, Firefox on Linux" "$MAIL_DIR"; echo $?)"

ask GET "/api/auth/verify-magic-link?token=$token"
is "a scanner that opens it changes nothing" "405 POST" "$STATUS $(header Allow)"
ask POST /api/auth/verify-magic-link "{\"handle\":\"$handle\",\"code\":\"$(tr 'A-Z-' 'a-z ' <<<"$code")\"}"
is "the code signs in, however it is typed" "200 $anna null" "$STATUS $(field user.email) $(field redirect_to)"
ask POST /api/auth/verify-magic-link "{\"token\":\"$token\"}"
is "its link is spent with it" "400 AUTH_006" "$STATUS $(field code)"

CLIENT=198.18.12.99
is "31 x verify-magic-link with a bad token" "30x400 1x429" \
    "$(many 31 POST /api/auth/verify-magic-link '{"token":"x"}')"

statuses=$(for i in $(seq 1 11); do
    CLIENT=198.18.12.$i ask POST /api/auth/request-magic-link '{"email":"somebody@example.com"}'
    echo "$STATUS"
done | runs)
is "eleven addresses, one mailbox" "10x202 1x429" "$statuses"
CLIENT=198.18.12.20 ask POST /api/auth/request-magic-link '{"email":" SomeBody@Example.COM "}'
is "the refusal" "429 RATE_001 null Too many requests for this email. Please try again later." \
    "$STATUS $(field code) $(field details) $(field error)"
matches "it says when to come back" '^([1-9]|[1-5][0-9]|60)$' "$(header Retry-After)"
CLIENT=198.18.12.11 ask POST /api/auth/request-magic-link '{"email":"somebody.else@example.com"}'
is "a second mailbox from the same address" 202 "$STATUS"
CLIENT=198.18.12.30 ask POST /api/auth/request-magic-link '{}'
is "an empty body" "422 29" "$STATUS $(header X-RateLimit-Remaining)"
done_testing
