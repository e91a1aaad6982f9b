#!/usr/bin/env bash
# The binary's other commands: `dev`, where nothing has to be configured, and `migrate`.
. "$(dirname "$0")/tap.sh"
need_services

# `dev` in an empty folder; the port alone is ours, since 8020 may be taken.
folder=$work/dev
mkdir -p "$folder"
port=$(free_port)
BASE_URL=http://127.0.0.1:$port
LOG=$logs/dev.log
cd "$folder" || exit 1
env -i PATH="$PATH" HOME="$folder" LISTEN_ADDR="127.0.0.1:$port" "${E2E_BINARY:?}" dev >"$LOG" 2>&1 </dev/null &
PID=$!
cd "$OLDPWD" || exit 1
server_log[$PID]=$LOG
wait_until 60 settled
healthy || give_up "dev starts with nothing configured" "$(tail -n 20 "$LOG")"
ok "dev starts with nothing configured"

ask GET /health/detailed
is "everything is embedded" "development memory disabled" "$(field environment) $(field rate_limit_backend) $(field redis)"
ask POST /api/auth/dev-login
is "dev-login" "200 admin" "$STATUS $(field user.role)"
ask GET /api/auth/me '' -H "Authorization: Bearer $(field access_token)"
is "signs in" 200 "$STATUS"
is "40 x dev-login, no limiter" 40x200 "$(many 40 POST /api/auth/dev-login)"
ask POST /api/auth/register "{\"email\":\"dev@example.com\",\"password\":\"$password\"}"
is "register" 201 "$STATUS"
matches "its mail lies in ./data/mail" . "$(node "$e2e/smtp/mails.mjs" wait "$folder/data/mail" dev@example.com token=)"
is "the database lies in ./data" yes "$(find "$folder/data" -name '*.db' | grep -q . && echo yes)"
is "the link is printed" yes "$(wait_until 30 grep -q '/verify-email?token=' "$LOG" && echo yes)"
stop_server $PID

migrate() { # LABEL DATABASE_URL
    (cd "$work" && env -i PATH="$PATH" HOME="$work" DATABASE_URL="$2" "$E2E_BINARY" migrate) >>"$logs/migrate-$1.log" 2>&1
}
database=$("$e2e/services" database e2e_migrate)
for kind in postgres sqlite; do
    [ $kind = postgres ] || database=sqlite://$work/migrate.db
    migrate $kind "$database"
    is "migrate, $kind" 0 $?
    migrate $kind "$database"
    is "migrate again, $kind" 0 $?
done
migrate nowhere postgres://e2e_owner:e2e_secret@127.0.0.1:9/nowhere
matches "migrate without a database fails" '^[1-9]' $?
lacks "and keeps the password to itself" "$(cat "$logs/migrate-nowhere.log")" e2e_secret
done_testing
