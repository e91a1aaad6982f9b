#!/usr/bin/env bash
# The ground the other scripts stand on: the private PostgreSQL, Redis and mail catcher do what is asked of them.
. "$(dirname "$0")/tap.sh"
need_services

url=$("$e2e/services" database e2e_ground)
is "a database can be made" "postgres://$POSTGRES_USER:$POSTGRES_PASSWORD@127.0.0.1:$POSTGRES_PORT/e2e_ground" "$url"
is "Redis keeps a value" "OK 7" "$("$e2e/services" redis-cli SET e2e_ground 7) $("$e2e/services" redis-cli GET e2e_ground)"

printf '%s\r\n' 'From: labs@example.test' 'To: Ground <ground@example.test>' 'Subject: =?utf-8?q?Gr=C3=BCezi?=' \
    'Content-Type: text/plain; charset=utf-8' 'Content-Transfer-Encoding: quoted-printable' '' \
    "Open $frontend/verify-email?token=3Dabc=" '_def-9 now.' >"$work/mail"
curl -s --mail-from labs@example.test --mail-rcpt ground@example.test -T "$work/mail" "smtp://127.0.0.1:$SMTP_PORT"
is "a mail is accepted" 0 $?
is "its link is read out of its encoding" abc_def-9 "$(token_from_mail ground@example.test /verify-email)"
is "its subject too" Grüezi "$(node "$e2e/smtp/mails.mjs" wait "$MAIL_DIR" ground@example.test now)"

for service in postgres redis smtp; do
    "$e2e/services" stop $service
    is "$service can be stopped" 0 $?
done
is "a stopped Redis answers nothing" "" "$("$e2e/services" redis-cli PING 2>/dev/null)"
"$e2e/services" start
is "all three start again" 0 $?
is "Redis answers again" PONG "$("$e2e/services" redis-cli PING)"
is "a database can be made again" "$url" "$("$e2e/services" database e2e_ground)"
done_testing
