#!/usr/bin/env bash
# Acceptance check 7: eleven source addresses, one mailbox budget, on every anonymous route that mails an address it is given.
. "$(dirname "$0")/tap.sh"
use_server

mailbox_routes=(request-magic-link forgot-password resend-verification)
network=0
for route in "${mailbox_routes[@]}"; do
    network=$((network + 1))
    statuses=$(for i in $(seq 1 11); do
        CLIENT=198.18.$network.$i ask POST "/api/auth/$route" '{"email":"somebody@example.com"}'
        echo "$STATUS"
    done | runs)
    is "eleven times $route for one mailbox" "10x202 1x429" "$statuses"

    CLIENT=198.18.$network.20 ask POST "/api/auth/$route" '{"email":" SomeBody@Example.COM "}'
    is "another spelling is the same mailbox" 429 "$STATUS"
    is "the sentence" "Too many requests for this email. Please try again later." "$(field error)"
    is "the code" RATE_001 "$(field code)"
    is "the details" null "$(field details)"
    matches "it says when to come back" '^([1-9]|[1-5][0-9]|60)$' "$(header Retry-After)"
    is "it tells nothing about the mailbox's traffic" "" "$(grep -iE '^(ratelimit|x-ratelimit-[a-z]+):' <<<"$HEADERS")"

    CLIENT=198.18.$network.11 ask POST "/api/auth/$route" '{"email":"somebody.else@example.com"}'
    is "the eleventh address may ask for a second mailbox" 202 "$STATUS"
done
done_testing
