#!/usr/bin/env bash
# Case 295: no mail is lost, neither by a stop nor by a mail server that is away.
. "$(dirname "$0")/tap.sh"
need_services
database=$("$e2e/services" database e2e_mail)

# The mail server is slow, and the signal comes while it has not yet accepted the mail.
start_server mailing DATABASE_URL="$database"
address=slow-2000-$RANDOM@example.com
ask POST /api/auth/register "{\"email\":\"$address\",\"password\":\"$password\"}"
is "register" 201 "$STATUS"
in_hand() { compgen -G "$MAIL_DIR/*.part"; }
wait_until 30 in_hand || give_up "the mail is in hand"
begun=$(date +%s%N)
kill -TERM "$PID"
wait_until 35 gone "$PID"
at_most "it stops within the grace time, in seconds" 30 "$((($(date +%s%N) - begun) / 1000000))e-3"
stop_server "$PID" asked
is "the mail has arrived" 1 "$(node "$e2e/smtp/mails.mjs" count "$MAIL_DIR" "$address")"

# Nor is a mail lost that nobody could take: the mail server is away when it is written, and so is the process later.
"$e2e/services" stop smtp || give_up "the mail catcher can be stopped"
start_server hopeful DATABASE_URL="$database"
waiting=waiting-$RANDOM@example.com
ask POST /api/auth/register "{\"email\":\"$waiting\",\"password\":\"$password\"}"
is "register without a mail server, the same answer" 201 "$STATUS"
stop_server "$PID"
"$e2e/services" start smtp || give_up "the mail catcher can be started again"
start_server later DATABASE_URL="$database"
MAIL_WAIT_SECONDS=120
export MAIL_WAIT_SECONDS
matches "the next process delivers it" '^[A-Za-z0-9_-]{43}$' "$(token_from_mail "$waiting" /verify-email)"
is "it does not send the other one again" 1 "$(node "$e2e/smtp/mails.mjs" count "$MAIL_DIR" "$address")"
done_testing
