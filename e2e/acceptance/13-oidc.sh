#!/usr/bin/env bash
# Signing in with a real OpenID provider: start, sign in there, return, hand-off; and what is refused on the way.
. "$(dirname "$0")/tap.sh"
need_services
CLIENT=203.0.113.13
email=anna.$RANDOM@example.com

start_provider "$email"
start_server server DATABASE_URL="$("$e2e/services" database e2e_oidc)" INFOMANIAK_ISSUER="$provider" \
    INFOMANIAK_CLIENT_ID=labs INFOMANIAK_CLIENT_SECRET='a secret between the two of them'

become() { curl -s -o /dev/null "$provider/as/$1"; }
token() { header Location | sed -n 's/.*[?&]token=\([A-Za-z0-9_-]*\).*/\1/p'; }

walk '?redirect_to=/dashboard'
is "start sends the browser to the provider" 302 "$STATUS"
matches "with a challenge and our scopes" 'scope=openid%20profile%20email.*' "$(header Location)"
matches "and a cookie for the way back" '^labs_oidc=[A-Za-z0-9_-]{43}; HttpOnly; Secure; SameSite=Lax; Path=/api/auth/infomaniak; Max-Age=600$' \
    "$(header Set-Cookie | grep '^labs_oidc=')"
matches "the provider sends it back with a code" '\?code=[^&]+&state=[^&]+' "$RETURN"

ask GET "$RETURN"
is "another browser is turned away" "302 $frontend/login?error=invalid_state&error_code=AUTH_013" "$STATUS $(header Location)"
walk '?redirect_to=/dashboard'
ask HEAD "$RETURN" '' --head -H "Cookie: $OURS"
is "HEAD spends nothing" 405 "$STATUS"
ask GET "$RETURN" '' -H "Cookie: $OURS"
matches "the return hands over to the front end" "^302 $frontend/magic-link\?token=[A-Za-z0-9_-]{43}&redirect_to=%2Fdashboard\$" "$STATUS $(header Location)"
handoff=$(token)
matches "and takes the cookie back" '^labs_oidc=;.*Max-Age=0$' "$(header Set-Cookie)"
ask GET "$RETURN" '' -H "Cookie: $OURS"
is "the same return again" "302 $frontend/login?error=invalid_state&error_code=AUTH_013" "$STATUS $(header Location)"

ask POST /api/auth/verify-magic-link "{\"token\":\"$handoff\"}"
is "the token signs in" "200 $email Anna Muster true /dashboard" \
    "$STATUS $(field user.email) $(field user.full_name) $(field user.email_verified) $(field redirect_to)"
id=$(field user.id)
ask GET /api/auth/me '' -H "Authorization: Bearer $(field access_token)"
is "the session lives" "200 $email" "$STATUS $(field email)"
ask POST /api/auth/verify-magic-link "{\"token\":\"$handoff\"}"
is "the token is spent" "400 AUTH_006" "$STATUS $(field code)"

walk ''
ask GET "$RETURN" '' -H "Cookie: $OURS"
ask POST /api/auth/verify-magic-link "{\"token\":\"$(token)\"}"
is "the next time it is the same account" "200 $id null" "$STATUS $(field user.id) $(field redirect_to)"

become unverified
walk ''
ask GET "$RETURN" '' -H "Cookie: $OURS"
is "an address that is not verified" "302 $frontend/login?error=email_not_verified&error_code=AUTH_014" "$STATUS $(header Location)"
become nobody
walk ''
matches "a person who declines comes back with an error" 'error=access_denied' "$RETURN"
ask GET "$RETURN" '' -H "Cookie: $OURS"
is "and is told so" "302 $frontend/login?error=access_denied&error_code=AUTH_014" "$STATUS $(header Location)"

become anna
walk ''
kill "$provider_pid"
wait "$provider_pid" 2>/dev/null
ask GET "$RETURN" '' -H "Cookie: $OURS"
is "a provider that is gone" "302 $frontend/login?error=provider_error&error_code=EXT_001" "$STATUS $(header Location)"
done_testing
