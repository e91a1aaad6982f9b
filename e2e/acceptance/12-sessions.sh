#!/usr/bin/env bash
# What a signed-in person can do about the account: see and end sessions, be told of unknown devices, change password
# and address, take everything along, and leave.
. "$(dirname "$0")/tap.sh"
need_services
[ -n "${BASE_URL:-}" ] || start_server server DATABASE_URL="$("$e2e/services" database e2e_sessions)"
CLIENT=203.0.113.12
anna=anna.$RANDOM@example.com
moved=moved.$RANDOM@example.com
bearer() { echo "Authorization: Bearer $1"; }
firefox='Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0'

make_account "$anna"
ask POST /api/auth/login "{\"email\":\"$anna\",\"password\":\"$password\"}" -A "$firefox"
here=$(field access_token)
device=$(header Set-Cookie | sed -n 's/^\(labs_device=[^;]*\);.*/\1/p')
matches "a sign-in marks the device" '^labs_device=[A-Za-z0-9_.-]{60,}$' "$device"
for attribute in HttpOnly Secure SameSite=Lax Path=/api/auth Max-Age=31536000; do
    matches "the mark is $attribute" ";[[:space:]]*$attribute(;|\$)" "$(header Set-Cookie | grep '^labs_device=')"
done
ask POST /api/auth/login "{\"email\":\"$anna\",\"password\":\"$password\"}" -H "Cookie: $device"
known=$(field access_token)
ask POST /api/auth/login "{\"email\":\"$anna\",\"password\":\"$password\"}"
there=$(field access_token)

ask GET /api/auth/sessions '' -H "$(bearer "$here")"
is "three sessions, this one first" "200 true Firefox on Windows password $CLIENT" \
    "$STATUS $(field sessions.0.current) $(field sessions.0.user_agent) $(field sessions.0.signed_in_by) $(field sessions.0.ip_address)"
is "another is not this one" false "$(field sessions.2.current)"
ask DELETE /api/auth/sessions/x '' -H "$(bearer "$here")"
is "an id that is none" "422 VAL_001" "$STATUS $(field code)"
ask DELETE /api/auth/sessions/00000000-0000-4000-8000-000000000000 '' -H "$(bearer "$here")"
is "an unknown session" "404 RES_001" "$STATUS $(field code)"
ask GET /api/auth/sessions '' -H "$(bearer "$known")"
id=$(field sessions.0.id)
ask DELETE "/api/auth/sessions/$id" '' -H "$(bearer "$here")"
is "one session is ended" 200 "$STATUS"
ask GET /api/auth/me '' -H "$(bearer "$known")"
is "its token dies at once" "401 AUTH_004" "$STATUS $(field code)"
ask DELETE /api/auth/sessions '' -H "$(bearer "$here")"
is "all others are ended" "200 1" "$STATUS $(field ended)"
ask GET /api/auth/me '' -H "$(bearer "$there")"
is "theirs die too" "401 AUTH_004" "$STATUS $(field code)"

ask GET /api/auth/workspaces '' -H "$(bearer "$here")"
is "the workspaces" "200 owner true" "$STATUS $(field workspaces.0.role) $(field workspaces.0.is_default)"
ask GET /api/auth/workspaces '' -H "$(bearer "$here")" -H 'X-Workspace-ID: 00000000-0000-4000-8000-000000000000'
is "a foreign workspace" "404 RES_001" "$STATUS $(field code)"

ask POST /api/auth/change-password '{"current_password":"wrong","new_password":"Chosen-Horse-3!"}' -H "$(bearer "$here")"
is "a wrong current password" "400 AUTH_009" "$STATUS $(field code)"
ask POST /api/auth/change-password "{\"current_password\":\"$password\",\"new_password\":\"password1\"}" -H "$(bearer "$here")"
is "a common new one" "422 VAL_002 common" "$STATUS $(field code) $(field details.reasons.0)"
ask POST /api/auth/change-password "{\"current_password\":\"$password\",\"new_password\":\"Chosen-Horse-3!\"}" -H "$(bearer "$here")"
is "changing the password" 200 "$STATUS"
ask GET /api/auth/me '' -H "$(bearer "$here")"
is "this session stays" 200 "$STATUS"

ask POST /api/auth/change-email "{\"new_email\":\"$moved\"}" -H "$(bearer "$here")"
is "a change of address wants the password" "422 VAL_001" "$STATUS $(field code)"
ask POST /api/auth/change-email "{\"new_email\":\"$moved\",\"current_password\":\"Chosen-Horse-3!\"}" -H "$(bearer "$here")"
is "asking for another address" 202 "$STATUS"
ask GET /api/auth/me '' -H "$(bearer "$here")"
is "changes nothing yet" "$anna" "$(field email)"
token=$(token_from_mail "$moved" /confirm-email)
ask POST /api/auth/confirm-email "{\"token\":\"$token\"}"
is "the link in the new mailbox does" "200 $moved" "$STATUS $(field email)"
ask POST /api/auth/confirm-email "{\"token\":\"$token\"}"
is "once" "400 AUTH_006" "$STATUS $(field code)"
token=$(token_from_mail "$anna" /undo-email)
ask POST /api/auth/undo-email "{\"token\":\"$token\"}"
is "the link in the former mailbox undoes it" "200 $anna" "$STATUS $(field email)"
ask GET /api/auth/me '' -H "$(bearer "$here")"
is "and ends every session" "401 AUTH_004" "$STATUS $(field code)"
matches "and mails a link to a new password" '^[A-Za-z0-9_-]{43}$' "$(token_from_mail "$anna" /reset-password)"

log_in "$anna" 'Chosen-Horse-3!'
here=$(field access_token)
ask GET /api/auth/me/export '' -H "$(bearer "$here")"
is "everything to take along" "200 $anna register" "$STATUS $(field account.email) $(field security_events.0.act)"
lacks "without a secret" "$BODY" argon2 password_hash "$here"
ask DELETE /api/auth/me '{}' -H "$(bearer "$here")"
is "leaving wants a proof" "422 VAL_001" "$STATUS $(field code)"
ask POST /api/auth/me/leave-code '' -H "$(bearer "$here")"
is "a code can be mailed" 202 "$STATUS"
ask DELETE /api/auth/me '{"code":"x"}' -H "$(bearer "$here")"
is "a wrong code" "400 AUTH_006" "$STATUS $(field code)"
ask DELETE /api/auth/me '{"current_password":"Chosen-Horse-3!"}' -H "$(bearer "$here")"
is "leaving by password" 200 "$STATUS"
ask GET /api/auth/me '' -H "$(bearer "$here")"
is "nobody is there any more" "401 AUTH_004" "$STATUS $(field code)"
log_in "$anna" 'Chosen-Horse-3!'
is "nor can sign in" "401 AUTH_001" "$STATUS $(field code)"
done_testing
