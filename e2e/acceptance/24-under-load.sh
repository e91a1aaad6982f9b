#!/usr/bin/env bash
# Cases 067, 107, 169 and 291: what a busy service answers, remembers and writes down. Its figures are printed; what is
# asserted is order, ratios within one run, and the bound on memory that the contract names.
. "$(dirname "$0")/tap.sh"
need_services
start_server load TRUSTED_PROXY_COUNT=1
make_account case067@example.com

# Case 067: fifty wrong logins from fifty networks, and /health meanwhile. Case 107: unknown and known, in turns.
BODY=$(node "$e2e/wire/hashes.mjs" "${BASE_URL##*:}" case067@example.com 50 30)
echo "# while fifty logins hashed: /health $(field health.median) ms in the middle, p95 $(field health.p95) ms, $(field health.answers) answers; one login by itself $(field alone) ms"
is "fifty wrong logins are refused as such" 401 "$(field logins.statuses)"
is "/health answers all the while" 200 "$(field health.statuses)"
# Behind the queue there would be a handful of answers, and the first would come last.
at_most "more questions are answered than logins" "$(field health.answers)" 51
at_most "/health waits for no hash: the middle of its times, in logins" 0.5 "$(field health.in_logins)"
echo "# unknown against known address: $(field pairs.ratio)"
is "an unknown address and a wrong password are one answer" "401 true" "$(field pairs.statuses) $(field pairs.alike)"
# One hash too many would be 2, none a twentieth; a busy machine strikes both of a pair alike.
at_most "the middle ratio of their times" 1.5 "$(field pairs.ratio)"
at_most "and its inverse" 1.5 "$(field pairs.inverse)"

# Case 169: two rounds of 200,000 clients, each seen once, on the embedded store.
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$PID/status"; } # KiB
clients=200000
before=$(resident)
first=$(node "$e2e/wire/clients.mjs" "${BASE_URL##*:}" $clients 1)
after_one=$(resident)
second=$(node "$e2e/wire/clients.mjs" "${BASE_URL##*:}" $clients 2)
after_two=$(resident)
echo "# resident: $before KiB, $after_one KiB after 200,000 clients, $after_two KiB after 200,000 others"
is "200,000 clients are each heard" "${clients}x422" "$first"
is "and 200,000 others" "${clients}x422" "$second"
at_most "the first round costs at most 100 MiB, in KiB" 102400 $((after_one - before))
# Entries are of one size and their table is full; a tenth is what an allocator may keep.
at_most "the second costs nothing, in KiB" $((after_one / 10)) $((after_two - after_one))
CLIENT=198.51.100.7 ask POST /api/auth/login '{}'
is "and one more is heard" 422 "$STATUS"

# Case 291: what stands behind a question mark stays out of the log.
ask GET '/api/auth/infomaniak/callback?code=mark1&state=mark2'
ask GET '/api/auth/cli-login?token=mark3&port=7777&state=mark4'
ask GET '/nowhere/mark5?x=mark6' '' -H 'Authorization: Bearer mark7' -H 'Cookie: labs_refresh=mark8'
ask POST /api/auth/verify-magic-link '{"token":"mark9"}'
said=$(<"$LOG")
matches "the log was written" '/api/auth/cli-login' "$said"
lacks "and repeats no query, header, path or body" "$said" mark1 mark2 mark3 mark4 mark5 mark6 mark7 mark8 mark9
done_testing
