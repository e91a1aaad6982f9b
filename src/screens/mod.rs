//! The hosted screens: plain pages for those who have no front end yet. One document, its style and its modules, embedded
//! in the binary from `web/`. They call the API like any other page and have no privilege.

pub mod routes;

/// A file of `web/`, ready to be served.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    pub kind: &'static str,
    pub text: &'static str,
}

/// The document that every screen's address answers with.
pub const DOCUMENT: Asset = Asset { kind: "text/html; charset=utf-8", text: include_str!("../../web/screen.html") };

/// The addresses of the screens. Mailed links lead to some of them.
pub const PATHS: [&str; 10] = [
    "/login",
    "/register",
    "/verify-email",
    "/magic-link",
    "/forgot-password",
    "/reset-password",
    "/set-password",
    "/confirm-email",
    "/undo-email",
    "/developers/verify",
];

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files that the document needs.
pub const ASSETS: [(&str, Asset); 4] = [
    ("/screens/screen.css", Asset { kind: "text/css; charset=utf-8", text: include_str!("../../web/screen.css") }),
    ("/screens/screen.js", Asset { kind: SCRIPT, text: include_str!("../../web/screen.js") }),
    ("/screens/api.js", Asset { kind: SCRIPT, text: include_str!("../../web/api.js") }),
    ("/screens/words.js", Asset { kind: SCRIPT, text: include_str!("../../web/words.js") }),
];
