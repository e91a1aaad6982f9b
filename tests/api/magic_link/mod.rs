//! Mailed links and the codes beside them, as a client sees them.

mod ask;
mod code;
mod races;
mod redeem;

use serde_json::{Value, json};

use crate::world::{Ask, Mail, Reply, Verbs, World, token_of};

pub(crate) const ASK: &str = "/api/auth/request-magic-link";
pub(crate) const REDEEM: &str = "/api/auth/verify-magic-link";

/// What somebody who asked holds, and what the mailbox holds.
pub(crate) struct Asked {
    pub(crate) handle: String,
    pub(crate) token: String,
    pub(crate) code: String,
}

impl World {
    /// Asks for a link.
    pub(crate) fn wish(&self, email: &str) -> Ask {
        self.anonymous().post(ASK, json!({"email": email}))
    }

    /// Asks for a link and reads the mail.
    pub(crate) async fn asked(&self, email: &str) -> Asked {
        let handle = self.wish(email).await.is(202).field("handle");
        let link = self.link_to(email, "/magic-link").await;
        let mail = self.mails_to(email).await.into_iter().find(|mail| mail.links().contains(&link)).unwrap();
        Asked { handle, token: token_of(&link), code: code_in(&mail) }
    }

    pub(crate) fn redeem(&self, proof: Value) -> Ask {
        self.anonymous().post(REDEEM, proof)
    }

    pub(crate) async fn redeem_token(&self, token: &str) -> Reply {
        self.redeem(json!({"token": token})).await
    }
}

/// The code in a mail: `4K7M-Q2XD`, alone on its line.
pub(crate) fn code_in(mail: &Mail) -> String {
    let is_sign = |byte: u8| b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&byte);
    let is_code = |line: &str| {
        line.len() == 9 && line.as_bytes()[4] == b'-' && line.bytes().filter(|byte| *byte != b'-').all(is_sign)
    };
    let codes: Vec<&str> = mail.text.lines().filter(|line| is_code(line)).collect();
    assert_eq!(codes.len(), 1, "{}", mail.text);
    assert!(mail.html.contains(codes[0]), "the code stands in both parts");
    codes[0].to_owned()
}
