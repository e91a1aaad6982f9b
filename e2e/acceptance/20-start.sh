#!/usr/bin/env bash
# Case 131 and its kin: a server that is told nonsense does not start, and says everything it has to say at once.
. "$(dirname "$0")/tap.sh"

# Starts a server that must refuse. Sets STATUS and BODY (what it said).
refused() { # LABEL [VARIABLE=VALUE…]
    launch "$@"
    # The bound only ends the wait for a server that did start.
    if ! wait_until 30 gone "$PID"; then
        kill -TERM "$PID"
        wait_until 35 gone "$PID" || kill -KILL "$PID"
        wait "$PID" 2>/dev/null
        STATUS=started
    else
        wait "$PID"
        STATUS=$?
    fi
    unset "server_log[$PID]"
    BODY=$(cat "$LOG")
}
refuses() { # LABEL SETTING [VARIABLE=VALUE…]
    local label=$1 setting=$2
    shift 2
    refused "$label" "$@"
    matches "$label: no start" '^[1-9][0-9]*$' "$STATUS"
    matches "$label: it names $setting" "$setting" "$BODY"
    lacks "$label: no panic" "$BODY" panicked RUST_BACKTRACE
}

refuses cors-star CORS_ORIGINS 'CORS_ORIGINS=*'
refuses cors-star-among-others CORS_ORIGINS 'CORS_ORIGINS=https://a.example,*'
refuses cors-no-origin CORS_ORIGINS 'CORS_ORIGINS=a.example'
refuses secret-too-short SECRET_KEY SECRET_KEY=short-secret-thirty-one-bytes-x
lacks "secret-too-short: it keeps the secret to itself" "$BODY" short-secret
refuses count-no-number TRUSTED_PROXY_COUNT TRUSTED_PROXY_COUNT=one
refuses everybody-trusted TRUSTED_PROXIES TRUSTED_PROXIES=0.0.0.0/0
refuses everybody-trusted-6 TRUSTED_PROXIES TRUSTED_PROXIES=::/0
refuses quota-no-number RATE_LIMIT_IP_PER_MINUTE RATE_LIMIT_IP_PER_MINUTE=many
refuses database-unknown-kind DATABASE_URL DATABASE_URL=mysql://root:hidden-word@localhost/labs
lacks "database-unknown-kind: it keeps the password to itself" "$BODY" hidden-word
refuses mail-unknown-kind MAIL_URL MAIL_URL=pigeon://loft
refuses environment-unknown ENVIRONMENT ENVIRONMENT=staging-ish
refuses address-unreadable LISTEN_ADDR LISTEN_ADDR=nowhere
refuses sites-unreadable WEBAUTHN_RPS 'WEBAUTHN_RPS=[{]'
refuses sites-foreign-origin WEBAUTHN_RPS \
    'WEBAUTHN_RPS=[{"rp_id":"labs.example","rp_name":"Labs","origins":["https://evil.example"]}]'

# Everything that is missing or wrong, in one go.
refused all-at-once SECRET_KEY= MAIL_URL= MAIL_FROM= FRONTEND_URL= API_BASE_URL= TRUSTED_PROXY_COUNT=-1 'CORS_ORIGINS=*'
matches "all-at-once: no start" '^[1-9][0-9]*$' "$STATUS"
for setting in SECRET_KEY MAIL_URL MAIL_FROM FRONTEND_URL API_BASE_URL TRUSTED_PROXY_COUNT CORS_ORIGINS; do
    matches "all-at-once: it names $setting" $setting "$BODY"
done

# The same with the variables absent, not empty.
(cd "$work" && env -i PATH="$PATH" HOME="$work" "${E2E_BINARY:?}" serve) >"$logs/nothing-set.log" 2>&1 </dev/null &
PID=$!
wait_until 30 gone $PID || kill -TERM $PID
wait $PID
matches "nothing-set: no start" '^[1-9][0-9]*$' $?
for setting in SECRET_KEY MAIL_URL MAIL_FROM FRONTEND_URL API_BASE_URL; do
    matches "nothing-set: it names $setting" $setting "$(cat "$logs/nothing-set.log")"
done
done_testing
