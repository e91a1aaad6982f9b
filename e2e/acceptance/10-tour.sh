#!/usr/bin/env bash
# A person's way through the house: register, confirm, sign in, stay signed in, leave, forget, return.
. "$(dirname "$0")/tap.sh"
need_services
[ -n "${BASE_URL:-}" ] || start_server server DATABASE_URL="$("$e2e/services" database e2e_tour)"
CLIENT=203.0.113.10
anna=anna.$RANDOM@example.com
bearer() { echo "Authorization: Bearer $1"; }

ask POST /api/auth/register "{\"email\":\"$anna\",\"password\":\"$password\",\"full_name\":\"Anna Muster\",\"locale\":\"de\"}"
is "register" 201 "$STATUS"
is "it says what comes next" "$anna true" "$(field email) $(field verification_required)"
is "it gives away neither id nor token" "email message verification_required" "$(field)"
log_in "$anna"
is "no sign-in before the address is confirmed" "403 AUTH_007" "$STATUS $(field code)"

token=$(token_from_mail "$anna" /verify-email)
matches "the mail carries a link with a token" '^[A-Za-z0-9_-]{43}$' "$token"
ask POST /api/auth/verify-email "{\"token\":\"$token\"}"
is "the link confirms the address" "200 $anna true" "$STATUS $(field email) $(field email_verified)"
ask POST /api/auth/verify-email "{\"token\":\"$token\"}"
is "a second click does no harm" 200 "$STATUS"

log_in "$anna" 'not the password'
is "a wrong password" "401 AUTH_001" "$STATUS $(field code)"
wrong=$(field error)
log_in nobody@example.com
is "an unknown address, the same answer" "401 AUTH_001 $wrong" "$STATUS $(field code) $(field error)"

log_in "${anna^^}"
is "login, however the address is written" "200 $anna" "$STATUS $(field user.email)"
is "the tokens" "bearer 1800" "$(field token_type) $(field expires_in)"
is "they are not stored on the way" no-store "$(header Cache-Control)"
access=$(field access_token)
refresh=$(field refresh_token)
cookie=$(header Set-Cookie | grep '^labs_refresh=')
matches "the cookie carries the refresh token" "^labs_refresh=$refresh;" "$cookie"
for attribute in HttpOnly Secure SameSite=Lax Path=/api/auth Max-Age=2592000; do
    matches "the cookie is $attribute" ";[[:space:]]*$attribute(;|\$)" "$cookie"
done

ask GET /api/auth/me '' -H "$(bearer "$access")"
is "me" "200 $anna Anna Muster true" "$STATUS $(field email) $(field full_name) $(field email_verified)"
is "with a workspace" owner "$(field workspace.role)"
lacks "without a secret" "$BODY" password_hash argon2

ask PATCH /api/auth/me '{"full_name":"Anna Beispiel","locale":"fr","role":"admin","email":"x@example.com"}' -H "$(bearer "$access")"
is "changing one's name" "200 Anna Beispiel fr" "$STATUS $(field full_name) $(field locale)"
is "nobody makes himself an admin, nor another" "user $anna" "$(field role) $(field email)"
ask PATCH /api/auth/me '{}' -H "$(bearer "$access")"
is "changing nothing" "200 Anna Beispiel" "$STATUS $(field full_name)"

# Refreshing. A token that was just used gets a successor of its own (two tabs), as long as no successor was used.
ask POST /api/auth/refresh "{\"refresh_token\":\"$refresh\"}"
is "refresh" 200 "$STATUS"
second=$(field refresh_token)
access=$(field access_token)
is "the refresh token is a new one" yes "$([ -n "$second" ] && [ "$second" != "$refresh" ] && echo yes)"
ask POST /api/auth/refresh "{\"refresh_token\":\"$refresh\"}"
is "the old one at once again, the second tab" 200 "$STATUS"
is "it gets its own" yes "$([ "$(field refresh_token)" != "$second" ] && echo yes)"
ask POST /api/auth/refresh '{}' -H "Cookie: labs_refresh=$second" -H 'Origin: https://evil.example'
is "the cookie from a foreign page" "403 AUTH_015" "$STATUS $(field code)"
ask POST /api/auth/refresh '{}' -H "Cookie: labs_refresh=$second" -H 'Origin: https://prima.li'
is "the cookie from an allowed page" 200 "$STATUS"
access=$(field access_token)
ask GET /api/auth/me '' -H "$(bearer "$access")"
is "the session lives" 200 "$STATUS"

ask POST /api/auth/logout '' -H "$(bearer "$access")"
is "logout" 200 "$STATUS"
matches "it clears the cookie" 'labs_refresh=;.*Max-Age=0|labs_refresh=;.*[Ee]xpires=' "$(header Set-Cookie)"
ask GET /api/auth/me '' -H "$(bearer "$access")"
is "me after logout" "401 AUTH_004" "$STATUS $(field code)"
is "it says how to authenticate" Bearer "$(header WWW-Authenticate | cut -d' ' -f1)"

# A stolen refresh token: used again after its successor was used, it ends the session.
log_in "$anna"
refresh=$(field refresh_token)
ask POST /api/auth/refresh "{\"refresh_token\":\"$refresh\"}"
ask POST /api/auth/refresh "{\"refresh_token\":\"$(field refresh_token)\"}"
access=$(field access_token)
ask POST /api/auth/refresh "{\"refresh_token\":\"$refresh\"}"
is "a refresh token from before" "401 AUTH_005" "$STATUS $(field code)"
ask GET /api/auth/me '' -H "$(bearer "$access")"
is "it ended the session" "401 AUTH_004" "$STATUS $(field code)"

# Forgetting the password.
log_in "$anna"
access=$(field access_token)
ask POST /api/auth/forgot-password "{\"email\":\"$anna\"}"
is "forgot password" 202 "$STATUS"
answer=$BODY
ask POST /api/auth/forgot-password '{"email":"nobody@example.com"}'
is "for an unknown address, the same answer" "202 $answer" "$STATUS $BODY"
token=$(token_from_mail "$anna" /reset-password)
ask POST /api/auth/reset-password "{\"token\":\"$token\",\"new_password\":\"short\"}"
is "too short a password" "422 VAL_001" "$STATUS $(field code)"
lacks "it is not echoed" "$BODY" '"short"' "$token"
ask POST /api/auth/reset-password "{\"token\":\"$token\",\"new_password\":\"$anna\"}"
is "one's address as a password" "422 VAL_002" "$STATUS $(field code)"
ask POST /api/auth/reset-password "{\"token\":\"$token\",\"new_password\":\"$password, the second\"}"
is "neither consumed the link" 200 "$STATUS"
ask POST /api/auth/reset-password "{\"token\":\"$token\",\"new_password\":\"$password, the third\"}"
is "its success did" "400 AUTH_006" "$STATUS $(field code)"
ask GET /api/auth/me '' -H "$(bearer "$access")"
is "every session has ended" 401 "$STATUS"
log_in "$anna"
is "the old password" 401 "$STATUS"
log_in "$anna" "$password, the second"
is "the new password" 200 "$STATUS"
access=$(field access_token)

ask POST /api/auth/logout '' -H "$(bearer "$access")"
is "the last logout" 200 "$STATUS"

# Registering an address that exists tells its registrant nothing, its owner something.
before=$(node "$e2e/smtp/mails.mjs" count "$MAIL_DIR" "$anna")
ask POST /api/auth/register "{\"email\":\"$anna\",\"password\":\"$password\"}"
is "registering again, the same answer" "201 $anna true" "$STATUS $(field email) $(field verification_required)"
more_mail() { [ "$(node "$e2e/smtp/mails.mjs" count "$MAIL_DIR" "$anna")" -gt "$before" ]; }
wait_until 30 more_mail
is "its owner is told" 0 $?
log_in "$anna" "$password, the second"
is "and keeps the password" 200 "$STATUS"
ask POST /api/auth/dev-login
is "there is no dev-login in production" 404 "$STATUS"
done_testing
