//! A mailbox's turn: whoever is about to count what was mailed to an address holds one row until the transaction ends.
//! Where the address has an account, its row would do; where it has none, this is the row. It refuses nothing.

use crate::{
    secret::Plain,
    store::{Fault, Tx, query},
};

/// Rows of the table, which a migration wrote. More would only make it rarer that two strangers share one.
const TURNS: u64 = 1024;

/// Waits until nobody else counts for this mailbox, and keeps others waiting until the transaction ends. It is taken for
/// every address alike, after the account's row where there is one, so that two transactions cannot wait for each other.
///
/// # Errors
/// A fault of the database, also when the row is missing: then nothing would be held.
pub async fn take_turn(tx: &mut Tx, mailbox: &str) -> Result<(), Fault> {
    let held = query!(in tx, execute, "UPDATE mailbox_turns SET turn = turn WHERE turn = $1", turn_of(mailbox))?;
    if held == 1 { Ok(()) } else { Err(Fault::defect("the table mailbox_turns is not complete")) }
}

fn turn_of(mailbox: &str) -> i64 {
    let hash = Plain::presented(mailbox.to_owned()).hash();
    let start = hash.as_bytes().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (start % TURNS).cast_signed()
}
