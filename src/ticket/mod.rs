//! Valid once and not for long: every mailed link and every hand-off is a row of one table, found by the SHA-256 of
//! its secret and claimed by one statement. It knows nothing of what a ticket is good for beyond its purpose.

mod code;
mod store;
mod turn;

use std::time::Duration;

use uuid::Uuid;

use crate::{
    clock::Clock,
    secret::{Entropy, Plain},
    store::{Fault, Tx},
};

pub use self::{
    code::Code,
    store::{
        Claimed, Live, Pending, claim, claim_sign_in, claim_unowned, claim_whole, delete_all, delete_every,
        delete_mailed_to, delete_others, find_holder, find_live, find_used, pending_of, sweep,
    },
    turn::take_turn,
};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A weekend and a day: whoever loses a mailbox on a Friday still finds the way back on Monday.
const UNDO: Duration = Duration::from_hours(72);

/// Mailed tickets of one purpose that one person may hold at once. While so many live, a request mails nothing:
/// those in the mailbox work, and a stranger cannot fill it.
pub const LIVE_MAILED_LIMIT: i64 = 5;

/// The purpose in the database of a ticket that nothing accepts.
const DECOY: &str = "decoy";

/// How long the link of an invitation lives: somebody who did not ask for it may be on holiday (surface 2.7).
pub const INVITATION_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// What a ticket is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    VerifyEmail,
    SetPassword,
    PasswordReset,
    MagicLink,
    OidcState,
    OidcHandoff,
    Cli,
    WsTicket,
    ConfirmEmail,
    UndoEmail,
    PrimaSignup,
}

impl Purpose {
    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VerifyEmail => "verify_email",
            Self::SetPassword => "set_password",
            Self::PasswordReset => "password_reset",
            Self::MagicLink => "magic_link",
            Self::OidcState => "oidc_state",
            Self::OidcHandoff => "oidc_handoff",
            Self::Cli => "cli",
            Self::WsTicket => "ws_ticket",
            Self::ConfirmEmail => "confirm_email",
            Self::UndoEmail => "undo_email",
            Self::PrimaSignup => "prima_signup",
        }
    }

    /// How long a ticket lives.
    pub const fn lifetime(self) -> Duration {
        match self {
            Self::VerifyEmail | Self::SetPassword | Self::ConfirmEmail | Self::PrimaSignup => DAY,
            Self::UndoEmail => UNDO,
            Self::PasswordReset => HOUR,
            Self::MagicLink => Duration::from_mins(15),
            Self::OidcState => Duration::from_mins(10),
            Self::OidcHandoff | Self::Cli | Self::WsTicket => MINUTE,
        }
    }
}

/// The outcome of asking for a mailed ticket.
#[derive(Debug)]
pub struct Issued {
    /// The secret for the link.
    pub secret: Plain,
    /// `false` for a decoy: nothing will accept the secret, and the mail must not be sent.
    pub live: bool,
}

/// For whom a ticket is mailed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The owner of an account.
    Account(Uuid),
    /// Somebody who gets an account by redeeming it.
    Newcomer,
    /// Nobody: a decoy is written.
    Nobody,
}

/// Issues tickets.
#[derive(Clone, Debug)]
pub struct Tickets {
    clock: Clock,
    entropy: Entropy,
}

impl Tickets {
    pub const fn new(clock: Clock, entropy: Entropy) -> Self {
        Self { clock, entropy }
    }

    /// Issues a ticket that will be mailed to `user`. Without a user, or with five live ones already, the same
    /// statements write a decoy, so that the work does not tell whether the address is known.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn issue_mailed(&self, tx: &mut Tx, purpose: Purpose, user: Option<Uuid>) -> Result<Issued, Fault> {
        self.issue_mailed_for(tx, purpose, user, purpose.lifetime()).await
    }

    /// Issues a mailed ticket that lives as long as its letter says.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn issue_mailed_for(
        &self,
        tx: &mut Tx,
        purpose: Purpose,
        user: Option<Uuid>,
        lifetime: Duration,
    ) -> Result<Issued, Fault> {
        let now = self.clock.now();
        let secret = Plain::mint(&self.entropy);
        // An id that nobody has, where there is no user: the same statements run.
        let asked = user.unwrap_or_else(|| self.entropy.uuid());
        let held = store::count_live_locked(tx, asked, purpose, now).await?;
        let live = user.is_some() && held < LIVE_MAILED_LIMIT;
        let owner = user.filter(|_| live);
        store::insert(tx, &secret.hash(), if live { purpose.name() } else { DECOY }, owner, now, now + lifetime)
            .await?;
        Ok(Issued { secret, live })
    }

    /// Issues a ticket that belongs to no account yet; the caller keeps what it stands for under its hash. One that is
    /// not `live` is a decoy, written by the same statement.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn issue_unowned(&self, tx: &mut Tx, purpose: Purpose, live: bool) -> Result<Issued, Fault> {
        let now = self.clock.now();
        let secret = Plain::mint(&self.entropy);
        let name = if live { purpose.name() } else { DECOY };
        store::insert(tx, &secret.hash(), name, None, now, now + purpose.lifetime()).await?;
        Ok(Issued { secret, live })
    }

    /// Issues a ticket that is mailed to `mailbox` for `holder`, with the same limit and the same decoys.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn issue_to_mailbox(
        &self,
        tx: &mut Tx,
        purpose: Purpose,
        mailbox: &str,
        holder: Holder,
        particulars: &str,
    ) -> Result<Issued, Fault> {
        let now = self.clock.now();
        let secret = Plain::mint(&self.entropy);
        let user = match holder {
            Holder::Account(id) => Some(id),
            Holder::Newcomer | Holder::Nobody => None,
        };
        let asked = user.unwrap_or_else(|| self.entropy.uuid());
        let held = store::count_live_locked(tx, asked, purpose, now).await?
            + store::count_mailed_to_locked(tx, mailbox, purpose, now).await?;
        let live = holder != Holder::Nobody && held < LIVE_MAILED_LIMIT;
        let new = store::New {
            purpose: if live { purpose.name() } else { DECOY },
            user: user.filter(|_| live),
            mailbox: (live && holder == Holder::Newcomer).then_some(mailbox),
            particulars: Some(particulars),
            now,
            expires: now + purpose.lifetime(),
        };
        store::insert_whole(tx, &secret.hash(), &new).await?;
        Ok(Issued { secret, live })
    }

    /// Issues a ticket that is handed over at once, in any number.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn issue(
        &self,
        tx: &mut Tx,
        purpose: Purpose,
        user: Option<Uuid>,
        particulars: &str,
    ) -> Result<Plain, Fault> {
        let now = self.clock.now();
        let secret = Plain::mint(&self.entropy);
        let new = store::New {
            purpose: purpose.name(),
            user,
            mailbox: None,
            particulars: Some(particulars),
            now,
            expires: now + purpose.lifetime(),
        };
        store::insert_whole(tx, &secret.hash(), &new).await?;
        Ok(secret)
    }
}
