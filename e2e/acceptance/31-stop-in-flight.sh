#!/usr/bin/env bash
# Case 293: a server that is asked to stop answers what it has in hand, and stops within the grace time.
# It may take most of that half minute; e2e/run lets it run beside the other scripts.
. "$(dirname "$0")/tap.sh"

# Twenty logins in flight, one header and one body that never end, an idle connection.
start_server busy
busy=$PID
begun=$(date +%s%N)
BODY=$(node "$e2e/wire/stop.mjs" "${BASE_URL##*:}" "$busy" 20)
is "twenty logins are answered in full" "20 401" "$(field complete) $(field statuses)"
is "nobody else is let in" refused "$(field late)"
wait_until 35 gone "$busy"
at_most "it stops within the grace time, in seconds" 30 "$((($(date +%s%N) - begun) / 1000000))e-3"
stop_server "$busy" asked
done_testing
