#!/usr/bin/env bash
# Accounts from the command line: imported, invited, listed, disabled, deleted, beside a running service.
. "$(dirname "$0")/tap.sh"
need_services

users() { # ARGUMENTS…      sets CODE, OUT and ERR
    (cd "$work" && env -i PATH="$PATH" HOME="$work" DATABASE_URL="$database" "${settings[@]}" "$E2E_BINARY" users "$@") \
        >"$work/out" 2>"$work/err" </dev/null
    CODE=$?
    OUT=$(<"$work/out")
    ERR=$(<"$work/err")
}
settings=(LOG_FORMAT=json)

# bcrypt by bcrypt 5.0 for Python, of Grüezi-Wält-2026 in NFC.
hash='$2b$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW'
swiss='Gr\u00fcezi-W\u00e4lt-2026'
cat >"$work/people.jsonl" <<LINES
{"email":"Brought.1@example.com","password_hash":"$hash","email_verified":true,"full_name":"Anna Muster"}
{"email":"brought.2@example.com","email_verified":true,"is_active":false}

{"email":"nobody"}
{"email":"dear@example.com","password_hash":"\$2b\$31\$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"}
{"email":"clear@example.com","password_hash":"marker-in-clear"}
{"email":"brought.1@example.com"}
{"email":"misspelt@example.com","pasword_hash":"x"}
{not json
LINES

for kind in sqlite postgres; do
    database=sqlite://$work/users.db
    [ $kind = sqlite ] || database=$("$e2e/services" database e2e_users)
    start_server $kind DATABASE_URL="$database"

    users import "$work/people.jsonl" --dry-run
    is "$kind: a dry run says what would be" "2 8 lines: 2 would be brought, 0 are here already, 6 refused. Nothing was stored." "$CODE $OUT"
    users list
    is "$kind: and stores nothing" "0 " "$CODE $OUT"
    users import "$work/people.jsonl"
    is "$kind: an import stores what can be used" "2 8 lines: 2 brought, 0 here already, 6 refused." "$CODE $OUT"
    is "$kind: and names the lines that cannot" "4 5 6 7 8 9" "$(sed -n 's/^line \([0-9]*\): .*/\1/p' <<<"$ERR" | xargs)"
    lacks "$kind: without repeating them" "$ERR" marker-in-clear abcdefghijkl brought.1
    users import "$work/people.jsonl"
    is "$kind: a second time changes nothing" "2 8 lines: 0 brought, 2 here already, 6 refused." "$CODE $OUT"
    head -n 2 "$work/people.jsonl" >"$work/good.jsonl"
    users import "$work/good.jsonl"
    is "$kind: with nothing to refuse the code is 0" 0 $CODE

    ask POST /api/auth/login "{\"email\":\"brought.1@example.com\",\"password\":\"$swiss\"}"
    is "$kind: whoever was brought signs in as before" "200 Anna Muster" "$STATUS $(field user.full_name)"
    access=$(field access_token)
    ask GET /api/auth/me '' -H "Authorization: Bearer $access"
    is "$kind: and has a workspace" "200 anna-muster" "$STATUS $(field workspace.slug)"
    users disable BROUGHT.1@example.com
    ask GET /api/auth/me '' -H "Authorization: Bearer $access"
    is "$kind: once disabled, the next request is refused" "0 401" "$CODE $STATUS"
    users enable brought.1@example.com
    users promote brought.1@example.com
    users list --role admin
    matches "$kind: promoted, it is listed as an admin" '^brought\.1@example\.com +admin +active, confirmed' "$OUT"
    users show brought.1@example.com --json
    is "$kind: shown as JSON without its hash" "true" "$(BODY=$OUT field has_password)"
    matches "$kind: with the number of its live sessions" '^[0-9]+$' "$(BODY=$OUT field sessions)"
    lacks "$kind: no hash is shown" "$OUT" argon2 '$2b$'

    users delete brought.2@example.com
    is "$kind: deleting asks, and without a terminal does nothing" 1 $CODE
    users delete brought.2@example.com --yes
    users show brought.2@example.com
    is "$kind: after --yes it is gone" "1" "$CODE"
    users disable nobody@example.com
    matches "$kind: nobody is not found" '1 .*no account' "$CODE $ERR"

    invited=invited.$kind@example.com
    settings=(LOG_FORMAT=json SECRET_KEY="$secret_key" MAIL_URL="smtp://127.0.0.1:$SMTP_PORT" MAIL_FROM=labs@example.test
        FRONTEND_URL="$frontend")
    users invite "$invited" --name 'Bea' --workspace Tulips --locale en
    is "$kind: an invitation waits for the service" 0 $CODE
    ask POST /api/auth/set-password "{\"token\":\"$(token_from_mail "$invited" /set-password)\",\"password\":\"$password\"}"
    is "$kind: which mails it, and its link sets a password" "200 Bea" "$STATUS $(field user.full_name)"
    users invite "$invited"
    matches "$kind: whoever has accepted is not invited again" '1 .*already' "$CODE $ERR"
    settings=(LOG_FORMAT=json)
    users invite other@example.com
    matches "$kind: without its settings it names what is missing" 'SECRET_KEY.*MAIL_URL.*MAIL_FROM.*FRONTEND_URL' "$(xargs <<<"$ERR")"
    stop_server "$PID"
done

database=sqlite://$work/nowhere/users.db
users list
matches "a database that is not there is told" '1 .*there is no .*nowhere/users.db; `labs-auth migrate` makes it' "$CODE $(xargs <<<"$ERR")"
is "and not made" absent "$([ -e "$work/nowhere" ] && echo made || echo absent)"
users import "$work/absent.jsonl"
matches "an absent file is named" '1 .*absent.jsonl cannot be read' "$CODE $ERR"
done_testing
