#!/usr/bin/env bash
# Acceptance check 4: who counts as the client, seen through which budget is spent. All requests come from 127.0.0.1.
# A budget is emptied by thirty requests of a plainly written client; whoever then gets 429 shares it.
. "$(dirname "$0")/tap.sh"

forwarded=()
empty() { # [X-FORWARDED-FOR]
    forwarded=()
    [ $# -eq 0 ] || forwarded=(-H "X-Forwarded-For: $1")
    is "thirty requests of ${1:-the peer} pass (count $count)" 30x422 \
        "$(many 30 POST /api/auth/login '{}' "${forwarded[@]}")"
}
counts() { # X-FORWARDED-FOR same|another AS
    local expected=429
    [ "$2" = same ] || expected=422
    ask POST /api/auth/login '{}' -H "X-Forwarded-For: $1"
    is "'$1' counts as $3 (count $count)" $expected "$STATUS"
}
server() { # LABEL VARIABLE=VALUE…
    start_server "$@"
    server_pid=$PID
}

count=1
server one TRUSTED_PROXY_COUNT=1
empty 203.0.113.7
counts '198.51.100.9, 203.0.113.7' same 203.0.113.7
counts '203.0.113.7' same 203.0.113.7
counts '198.51.100.9' another 198.51.100.9
counts '203.0.113.7, 198.51.100.9' another 198.51.100.9
counts '::ffff:203.0.113.7' same 203.0.113.7
counts '64:ff9b::203.0.113.7' same '203.0.113.7, which it embeds'
empty 10.0.0.1
counts '198.51.100.5, 203.0.113.5, 10.0.0.1' same 10.0.0.1
counts '198.51.100.5, 203.0.113.5' another 203.0.113.5
empty 2001:db8:abcd:12::1
counts '2001:db8:abcd:12:ffff::9' same 2001:db8:abcd:12::/64
counts '2001:DB8:ABCD:0012:0:0:0:9' same 2001:db8:abcd:12::/64
counts '2001:db8:abcd:13::1' another 2001:db8:abcd:13::/64
empty
counts 'not-an-ip' same 'the peer'
counts '127.0.0.1' same 'the peer'
counts '198.51.100.9, not-an-ip' same 'the peer, never what stands further left'
counts '203.0.113.8:4711' same 'the peer: a port is no part of an address'
counts '[2001:db8::1]' same 'the peer: brackets are no part of an address'
counts 'fe80::1%eth0' same 'the peer: a zone is no part of an address'
counts '203.0.113.007' same 'the peer: leading zeros'
counts 'unknown' same 'the peer'
counts '203.0.113.8,' same 'the peer: the last entry is empty'
ask POST /api/auth/login '{}' -H 'X-Real-IP: 203.0.113.90' -H 'Forwarded: for=203.0.113.91' \
    -H 'CF-Connecting-IP: 203.0.113.92' -H 'True-Client-IP: 203.0.113.93'
is "other headers that name a client are not read" 429 "$STATUS"
ask POST /api/auth/login '{}' -H 'X-Forwarded-For: 198.51.100.77' -H 'X-Forwarded-For: 203.0.113.7'
is "two header lines are one list" 429 "$STATUS"

# What a client writes itself stands to the left of what the proxy adds: a new lie each time opens no new budget.
forged=$(for i in $(seq 1 31); do
    ask POST /api/auth/login '{}' -H "X-Forwarded-For: 192.0.2.$i, 203.0.113.50"
    echo "$STATUS"
done | runs)
is "thirty-one forged left entries share one budget" "30x422 1x429" "$forged"
stop_server "$server_pid"

count=2
server two TRUSTED_PROXY_COUNT=2
empty 198.51.100.9
counts '198.51.100.9, 203.0.113.7' same 198.51.100.9
counts '192.0.2.1, 198.51.100.9, 203.0.113.7' same 198.51.100.9
counts '203.0.113.7' another '203.0.113.7, the only entry'
counts '198.51.100.9, 203.0.113.7, 203.0.113.8' another 203.0.113.7
stop_server "$server_pid"

count=0
server none TRUSTED_PROXY_COUNT=0
empty
counts '198.51.100.9, 203.0.113.7' same 'the peer'
counts '203.0.113.7' same 'the peer'
stop_server "$server_pid"

# A peer outside the trusted networks is the client, whatever it writes.
count='1, peer not trusted'
server stranger TRUSTED_PROXY_COUNT=1 TRUSTED_PROXIES=192.0.2.0/24
empty
counts '1.2.3.4' same 'the peer'
counts '198.51.100.9, 203.0.113.7' same 'the peer'
stop_server "$server_pid"
done_testing
