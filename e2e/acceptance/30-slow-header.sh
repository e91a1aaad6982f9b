#!/usr/bin/env bash
# Case 281: who never finishes his header is sent away after half a minute, and keeps nobody else waiting meanwhile.
# It takes that half minute; e2e/run lets it run beside the other scripts.
. "$(dirname "$0")/tap.sh"
use_server

BODY=$(node "$e2e/wire/trickle.mjs" "${BASE_URL##*:}" 200 60)
is "two hundred connections are closed" "200 0" "$(field sockets) $(field left_open)"
# Thirty seconds by contract; the rest is what a busy machine may take to notice.
at_most "the last of them after, in seconds" 35 "$(field longest)"
matches "with a 408 or without a word" '^(408)?$' "$(field statuses)"
is "everybody else is served meanwhile" 200 "$(field health)"
# Whoever waited for the others would wait as long as they do.
at_most "the slowest of them, in seconds" 10 "$(field slowest_health)"
done_testing
