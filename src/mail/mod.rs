//! Outgoing mail. A room enqueues a letter inside the transaction that causes it; the courier delivers it later, with
//! backoff. Nothing here answers a request, waits for a mail server on a request's behalf, or builds a link: links
//! come finished from the rooms, which know the configured public address and nothing of request headers.

mod address;
mod compose;
mod courier;
mod failure;
mod folder;
mod letter;
mod open;
mod parcel;
mod post;
mod report;
mod settings;
mod settle;
mod smtp;
mod store;
mod templates;
mod transport;

pub use self::{
    address::TransportAddress,
    courier::Courier,
    letter::{Delivery, Language, Letter, Recipient, Request},
    open::{SEAL_LABEL, open},
    post::{Post, Queued},
    report::{MailReport, MailState},
    settings::{MailSettings, Patience, Sender},
    store::forget,
};
