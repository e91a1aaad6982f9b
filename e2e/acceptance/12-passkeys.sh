#!/usr/bin/env bash
# Passkeys without an authenticator: which site a page belongs to, and what a stranger learns. The browser proof has one.
. "$(dirname "$0")/tap.sh"
need_services
rps='[{"rp_id":"labs.example","rp_name":"Labs","origins":["https://app.labs.example"],"related_origins":["https://labs.test"]},
      {"rp_id":"prima.example","rp_name":"Prima","origins":["https://prima.example"]}]'
start_server server DATABASE_URL="$("$e2e/services" database e2e_passkeys)" WEBAUTHN_RPS="$rps" \
    CORS_ORIGINS=https://app.labs.example,https://labs.test,https://prima.example
CLIENT=203.0.113.12
routes=/api/auth/webauthn

ask POST $routes/login/begin-discoverable 'not JSON at all' -H 'Origin: https://prima.example'
is "the page's origin chooses the site, and no body is read" "200 prima.example 300" "$STATUS $(field options.rpId) $(field expires_in)"
is "any passkey of the device will do" '[]' "$(field options.allowCredentials)"
lacks "the bare W3C form" "$BODY" publicKey mediation extensions
ask POST $routes/login/begin-discoverable ''
is "without an origin, the first site" "200 labs.example" "$STATUS $(field options.rpId)"
ask POST $routes/login/begin-discoverable '' -H 'Origin: https://labs.test'
is "a related page shares the site" "200 labs.example" "$STATUS $(field options.rpId)"
ask POST $routes/login/begin-discoverable '' -H 'Origin: https://evil.example'
is "an unknown page" "403 WEBAUTHN_003" "$STATUS $(field code)"

ask POST $routes/login/begin '{"email":"nobody@example.com"}'
first=$(field options.allowCredentials.0.id)
challenge=$(field options.challenge)
matches "an unknown address gets a passkey that nobody has" '^[A-Za-z0-9_-]{22,86}$' "$first"
ask POST $routes/login/begin '{"email":"Nobody@Example.com"}'
is "the same one every time" "$first" "$(field options.allowCredentials.0.id)"
is "the challenge is a fresh one" yes "$([ "$challenge" != "$(field options.challenge)" ] && echo yes)"
id=$(field challenge_id)
body="{\"challenge_id\":\"$id\",\"credential\":{\"id\":\"$first\",\"rawId\":\"$first\",\"type\":\"public-key\",\"response\":{
      \"authenticatorData\":\"AAAA\",\"clientDataJSON\":\"AAAA\",\"signature\":\"AAAA\"}}}"
ask POST $routes/login/complete "$body"
is "it signs nobody in" "401 WEBAUTHN_002" "$STATUS $(field code)"
ask POST $routes/login/complete "$body"
is "and the challenge is used up" "400 WEBAUTHN_001" "$STATUS $(field code)"

ask GET "$routes/check?email=nobody@example.com" '' -H 'Origin: https://prima.example'
is "check" "200 true prima.example false" "$STATUS $(field available) $(field rp_id) $(field has_passkeys)"
ask GET $routes/credentials
is "a person's own passkeys need a session" "401 AUTH_002" "$STATUS $(field code)"
ask GET /.well-known/webauthn '' -H 'Host: labs.example'
is "related origins by host" '200 {"origins":["https://app.labs.example","https://labs.test"]}' "$STATUS $BODY"
ask GET /.well-known/webauthn
is "another host has none" "404 RES_001" "$STATUS $(field code)"

CLIENT=203.0.113.13
is "thirty malformed bodies from another site, then none" "30x422 1x429" \
    "$(many 31 POST $routes/login/complete '{}' -H 'Origin: https://prima.example')"
done_testing
