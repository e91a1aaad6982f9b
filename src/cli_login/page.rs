//! The page that asks. No script, no foreign resource; everything that somebody else typed is escaped.

use super::wish::Wish;
use crate::{account::Account, mail::Language};

/// The words of one language.
struct Words {
    tag: &'static str,
    title: &'static str,
    lead: &'static str,
    account: &'static str,
    machine: &'static str,
    unnamed: &'static str,
    port: &'static str,
    warning: &'static str,
    allow: &'static str,
    deny: &'static str,
}

const ENGLISH: Words = Words {
    tag: "en",
    title: "Sign in on the command line?",
    lead: "A program on this computer asks to sign in with your account.",
    account: "Account",
    machine: "Computer",
    unnamed: "not named",
    port: "Port",
    warning: "Authorise only if you have just started this yourself.",
    allow: "Authorise",
    deny: "Cancel",
};

const GERMAN: Words = Words {
    tag: "de",
    title: "Auf der Kommandozeile anmelden?",
    lead: "Ein Programm auf diesem Computer möchte sich mit Ihrem Konto anmelden.",
    account: "Konto",
    machine: "Computer",
    unnamed: "ohne Namen",
    port: "Port",
    warning: "Erlauben Sie das nur, wenn Sie es gerade selbst gestartet haben.",
    allow: "Erlauben",
    deny: "Abbrechen",
};

/// The policy of the page: its own style, its own form, and the client's port for the redirect after it.
pub(super) fn policy(nonce: &str, port: u16) -> String {
    format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self' http://127.0.0.1:{port}; \
         frame-ancestors 'none'; base-uri 'none'"
    )
}

/// The page. Its own referrer policy is `same-origin`: under the header's `no-referrer` browsers would post the form
/// with `Origin: null`, which is no page of ours.
pub(super) fn render(account: &Account, wish: &Wish, csrf: &str, nonce: &str) -> String {
    let words = match account.recipient().language {
        Language::German => GERMAN,
        Language::English => ENGLISH,
    };
    let Words { tag, title, lead, account: account_word, machine, unnamed, port: port_word, warning, allow, deny } =
        words;
    let email = escape(&account.email);
    let name = escape(wish.name.as_deref().unwrap_or(unnamed));
    let given_name = escape(wish.name.as_deref().unwrap_or(""));
    let (port, state, challenge) = (wish.port, escape(&wish.state), escape(&wish.challenge));
    format!(
        r#"<!DOCTYPE html>
<html lang="{tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin">
<title>{title}</title>
<style nonce="{nonce}">
body {{ margin: 0; padding: 2rem 1rem; background: #f4f4f1; color: #1c1c1a; font: 1rem/1.5 system-ui, sans-serif; }}
main {{ max-width: 32rem; margin: 0 auto; padding: 2rem; background: #fff; border-radius: .5rem; }}
h1 {{ margin: 0 0 1rem; font-size: 1.25rem; }}
dl {{ display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 1.5rem 0; }}
dt {{ color: #55554f; }}
dd {{ margin: 0; overflow-wrap: anywhere; font-weight: 600; }}
form {{ display: flex; gap: 1rem; margin-top: 1.5rem; }}
button {{ padding: .75rem 1.5rem; border: 1px solid #1d4ed8; border-radius: .375rem; background: #fff; color: #1d4ed8; font: inherit; font-weight: 600; cursor: pointer; }}
button.allow {{ background: #1d4ed8; color: #fff; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{lead}</p>
<dl>
<dt>{account_word}</dt><dd><bdi>{email}</bdi></dd>
<dt>{machine}</dt><dd><bdi>{name}</bdi></dd>
<dt>{port_word}</dt><dd>127.0.0.1:{port}</dd>
</dl>
<p>{warning}</p>
<form method="post" action="cli-login">
<input type="hidden" name="port" value="{port}">
<input type="hidden" name="state" value="{state}">
<input type="hidden" name="code_challenge" value="{challenge}">
<input type="hidden" name="name" value="{given_name}">
<input type="hidden" name="csrf" value="{csrf}">
<button class="allow" name="decision" value="allow">{allow}</button>
<button name="decision" value="deny">{deny}</button>
</form>
</main>
</body>
</html>
"#
    )
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            sign => safe.push(sign),
        }
    }
    safe
}
