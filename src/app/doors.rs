//! How the rooms are joined that need the same few parts: the other ways in, a person's own pages, the developers.

use std::sync::Arc;

use crate::{
    account::{Holdings, PasswordProof},
    address::Addresses,
    cli_login::{CliLogins, CsrfKeys},
    clock::Clock,
    config::Settings,
    developer::{Developers, gate::SignupGate},
    magic_link::MagicLinks,
    mail::Post,
    oidc::{self, Oidc, Provider},
    passkey::{self, Decoys, Passkeys},
    profile::Profiles,
    secret::{Entropy, Seal},
    session::Sessions,
    store::Database,
    ticket::Tickets,
};

/// What all of them need.
pub(super) struct Doors<'a> {
    pub(super) settings: &'a Settings,
    pub(super) db: &'a Database,
    pub(super) clock: &'a Clock,
    pub(super) entropy: &'a Entropy,
    pub(super) tickets: &'a Tickets,
    pub(super) sessions: &'a Sessions,
}

impl Doors<'_> {
    pub(super) fn magic_links(&self, post: Post) -> MagicLinks {
        MagicLinks {
            db: self.db.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            tickets: self.tickets.clone(),
            post,
            sessions: self.sessions.clone(),
            frontend: self.settings.links.frontend.clone(),
            signup_open: self.settings.accounts.magic_link_signup,
        }
    }

    pub(super) fn oidc(&self) -> Result<Oidc, String> {
        let settings = &self.settings.infomaniak;
        let secrets = &self.settings.secrets;
        let known_as = settings.registration(&self.settings.links.api_base);
        let provider = known_as.map(|it| Provider::new(it, self.clock.clone(), settings.patience)).transpose()?;
        Ok(Oidc {
            db: self.db.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            tickets: self.tickets.clone(),
            sessions: self.sessions.clone(),
            seal: Seal::new(oidc::SEAL_LABEL, &secrets.current, secrets.previous.as_ref()),
            provider: provider.map(Arc::new),
            frontend: self.settings.links.frontend.clone(),
            registration_open: self.settings.accounts.registration_open,
            trust_email: settings.trust_email,
            patience: settings.patience,
        })
    }

    pub(super) fn passkeys(&self, post: Post) -> Passkeys {
        let (settings, secrets) = (&self.settings.passkeys, &self.settings.secrets);
        Passkeys {
            db: self.db.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            post,
            sessions: self.sessions.clone(),
            parties: settings.parties.clone(),
            decoys: Decoys::new(&secrets.current),
            devices: Arc::new(passkey::Devices::new(&secrets.current, secrets.previous.as_ref())),
            check_discloses: settings.check_discloses,
        }
    }

    pub(super) fn cli_logins(&self) -> CliLogins {
        let secrets = &self.settings.secrets;
        CliLogins {
            db: self.db.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            tickets: self.tickets.clone(),
            sessions: self.sessions.clone(),
            csrf: CsrfKeys::new(&secrets.current, secrets.previous.as_ref()),
            frontend: self.settings.links.frontend.clone(),
            own_origin: self.settings.links.api_base.origin(),
        }
    }

    pub(super) fn profiles(&self, post: Post, proof: PasswordProof, holdings: Holdings) -> Profiles {
        Profiles {
            db: self.db.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            post,
            proof,
            holdings,
        }
    }

    pub(super) fn addresses(&self, post: Post, proof: PasswordProof) -> Addresses {
        Addresses {
            db: self.db.clone(),
            clock: self.clock.clone(),
            tickets: self.tickets.clone(),
            post,
            sessions: self.sessions.clone(),
            proof,
            frontend: self.settings.links.frontend.clone(),
        }
    }

    pub(super) fn developers(&self, post: Post) -> Developers {
        let settings = &self.settings.developers;
        Developers {
            db: self.db.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            tickets: self.tickets.clone(),
            post,
            sessions: self.sessions.clone(),
            portal: settings.portal.clone(),
            terms: settings.terms.clone(),
        }
    }

    pub(super) fn signup_gate(&self) -> SignupGate {
        let doors = Arc::new(self.settings.developers.doors.clone());
        SignupGate { db: self.db.clone(), clock: self.clock.clone(), doors }
    }
}
