//! Valid once and not for long: every mailed link and every hand-off is a row of one table, found by the SHA-256 of
//! its secret and claimed by one statement. It knows nothing of what a ticket is good for beyond its purpose.

mod store;

use std::time::Duration;

use uuid::Uuid;

use crate::{
    clock::Clock,
    secret::{Entropy, Plain},
    store::{Fault, Tx},
};

pub use self::store::{
    Live, Pending, claim, delete_all, delete_every, delete_others, find_live, find_used, pending_of, sweep,
};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A weekend and a day: whoever loses a mailbox on a Friday still finds the way back on Monday.
const UNDO: Duration = Duration::from_hours(72);

/// Mailed tickets of one purpose that one person may hold at once. While so many live, a request mails nothing:
/// those in the mailbox work, and a stranger cannot fill it.
const LIVE_MAILED_LIMIT: i64 = 5;

/// How long the link of an invitation lives: somebody who did not ask for it may be on holiday (surface 2.7).
pub const INVITATION_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// What a ticket is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    VerifyEmail,
    SetPassword,
    PasswordReset,
    ConfirmEmail,
    UndoEmail,
}

impl Purpose {
    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VerifyEmail => "verify_email",
            Self::SetPassword => "set_password",
            Self::PasswordReset => "password_reset",
            Self::ConfirmEmail => "confirm_email",
            Self::UndoEmail => "undo_email",
        }
    }

    /// How long a ticket lives.
    pub const fn lifetime(self) -> Duration {
        match self {
            Self::VerifyEmail | Self::SetPassword | Self::ConfirmEmail => DAY,
            Self::UndoEmail => UNDO,
            Self::PasswordReset => HOUR,
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
        store::insert(tx, &secret.hash(), if live { purpose.name() } else { "decoy" }, owner, now, now + lifetime)
            .await?;
        Ok(Issued { secret, live })
    }
}
