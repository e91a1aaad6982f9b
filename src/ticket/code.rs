//! A short code beside a mailed link, for whoever reads the mail on one device and signs in on another. It stands for
//! the same ticket, opens nothing without its handle, and a handle bears five wrong codes.

use super::{Purpose, Tickets, store};
use crate::{
    secret::{Entropy, Hashed, Plain, equal},
    store::{Database, Fault, Tx},
};

/// Crockford's alphabet: no I, L, O or U, so that a code survives being read aloud.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Signs of a code: 40 bits.
const SIGNS: usize = 8;

/// Codes that may be tried against one handle. With five live handles per mailbox a guesser has 25 tries at 2^40.
const TRIES: i64 = 5;

/// A code in clear, without its hyphen.
#[derive(Clone)]
pub struct Code(Plain);

impl Code {
    fn mint(entropy: &Entropy) -> Self {
        let bytes: [u8; SIGNS] = entropy.bytes();
        // 256 is a multiple of 32, so every sign is equally likely.
        Self(Plain::presented(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()))
    }

    /// A code as people type it: any case, with or without hyphen and blanks, O for 0, I and L for 1.
    pub fn typed(text: &str) -> Self {
        let signs =
            text.chars().filter(|sign| !matches!(sign, '-' | ' ')).map(|sign| match sign.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                sign => sign,
            });
        Self(Plain::presented(signs.collect()))
    }

    /// As a mail shows it: `4K7M-Q2XD`.
    pub fn shown(&self) -> String {
        let text = self.0.reveal();
        let (left, right) = text.split_at(text.len() / 2);
        format!("{left}-{right}")
    }

    /// What is stored. The handle, of 256 bits and itself stored only as a hash, keeps a stolen table from telling codes.
    fn hash_under(&self, handle: &Plain) -> Hashed {
        Plain::presented(format!("{}:{}", handle.reveal(), self.0.reveal())).hash()
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code(…)")
    }
}

impl Tickets {
    /// Adds a code to a ticket that was just issued, and returns it with its handle.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn add_code(&self, tx: &mut Tx, ticket: &Plain) -> Result<(Plain, Code), Fault> {
        let handle = Plain::mint(&self.entropy);
        let code = Code::mint(&self.entropy);
        store::insert_code(tx, &handle.hash(), &ticket.hash(), &code.hash_under(&handle)).await?;
        Ok((handle, code))
    }

    /// The hash of the ticket that a code stands for; to be claimed like any other. The try is counted, and the count
    /// visible to everybody, before the code is compared.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn try_code(db: &Database, handle: &Plain, code: &Code) -> Result<Option<Hashed>, Fault> {
        let tried = store::count_try(db, &handle.hash(), TRIES).await?;
        let fits = |row: &store::Tried| equal(&row.code, code.hash_under(handle).as_bytes());
        Ok(tried.filter(fits).map(|row| Hashed::stored(row.ticket)))
    }
}

impl Purpose {
    /// Whether a ticket of this purpose can be redeemed where mailed sign-in links are.
    pub const SIGN_IN: [Self; 3] = [Self::MagicLink, Self::OidcHandoff, Self::Cli];
}
