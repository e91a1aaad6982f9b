//! Signing up. One answer for a new, a known and an equipped address; the difference is in the mail.

use super::{
    Developers, Refusal,
    field::{Company, Name},
    gate::Pass,
    store::{self, NewSignup},
};
use crate::{
    account::{self, Email, Locale},
    audit::{self, Act, Event},
    limit::{Admission, ClientIp, extract::HourlySignup},
    mail::{Delivery, Letter, Recipient},
    secret::fingerprint,
    store::retrying,
    ticket::{self, LIVE_MAILED_LIMIT, Purpose},
};

/// The page of the portal that redeems the mailed link.
const VERIFY_PAGE: &str = "/verify";

/// What somebody signs up with.
#[derive(Debug)]
pub struct Signup {
    pub email: Email,
    pub name: Option<Name>,
    pub company: Option<Company>,
    pub accept_terms: Option<bool>,
    pub locale: Locale,
}

impl Developers {
    /// Notes a sign-up and mails its link, or points the owner of a key to the portal.
    ///
    /// # Errors
    /// Terms that are not accepted; an absent part.
    pub async fn sign_up(
        &self,
        _: &Admission<HourlySignup>,
        pass: &Pass,
        wanted: &Signup,
        client: &ClientIp,
    ) -> Result<(), Refusal> {
        match wanted.accept_terms {
            None if self.terms.required => return Err(Refusal::TermsMissing),
            Some(false) if self.terms.required => return Err(Refusal::TermsRefused),
            _ => {}
        }
        retrying(|| self.write_signup(pass, wanted, client)).await?;
        self.post.wake();
        tracing::info!(mailbox = fingerprint(wanted.email.as_str()), "Developer signed up");
        Ok(())
    }

    async fn write_signup(&self, pass: &Pass, wanted: &Signup, client: &ClientIp) -> Result<(), Refusal> {
        let email = wanted.email.as_str();
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let known = account::find_for_update(&mut tx, email).await?;
        let equipped = store::has_live_key(&mut tx, email, now).await?;
        // Five links that work are enough; a stranger cannot fill the mailbox.
        ticket::take_turn(&mut tx, email).await?;
        let held = store::count_live(&mut tx, email, now).await?;
        let live = !equipped && held < LIVE_MAILED_LIMIT;
        let issued = self.tickets.issue_unowned(&mut tx, Purpose::PrimaSignup, live).await?;
        let accepted = wanted.accept_terms == Some(true);
        let new = NewSignup {
            email,
            name: wanted.name.as_ref().map(|name| name.0.as_str()),
            company: wanted.company.as_ref().map(|company| company.0.as_str()),
            locale: wanted.locale.name(),
            terms_version: accepted.then_some(self.terms.version.as_str()),
            terms_accepted_at: accepted.then_some(now),
            ip_address: &client.address(),
            invite_id: pass.invite,
            now,
        };
        store::insert(&mut tx, &issued.secret.hash(), &new).await?;
        let typed = Recipient { email, name: new.name, language: wanted.locale.language() };
        let event = Event::by(Act::DeveloperSignup, client, now).naming(known.as_ref().map(|it| it.id), email);
        audit::record(&mut tx, &event).await?;
        match known {
            Some(known) if equipped => {
                let letter = Letter::PrimaKeyExists { portal: self.portal.to_string() };
                self.post.enqueue(&mut tx, known.recipient(), &letter, Delivery::Send).await?;
            }
            _ => {
                let letter = Letter::PrimaSignup { link: self.portal.link(VERIFY_PAGE, &issued.secret) };
                let delivery = if issued.live { Delivery::Send } else { Delivery::Void };
                self.post.enqueue(&mut tx, typed, &letter, delivery).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }
}
