//! `labs-auth login`, `whoami`, `logout`: the client half of the command-line hand-off, for people who use a service
//! that runs elsewhere. It reads none of the service's settings.

mod browser;
mod kept;
mod loopback;
mod remote;

use openidconnect::url::Url;

use self::{
    kept::{Folder, Kept},
    remote::{Answer, Remote},
};
use crate::{
    cli_login::wish::is_invisible,
    clock::Clock,
    secret::{Entropy, Plain},
};

/// A fault for the person at the terminal.
type Outcome<T> = Result<T, String>;

/// Signs in at `server`: opens the browser, waits for it to come back, and keeps the tokens.
pub(super) async fn login(server: &str, name: Option<String>, open: bool) -> Outcome<()> {
    let remote = Remote::parse(server)?;
    let folder = Folder::of_process()?;
    let entropy = Entropy::system();
    let (state, verifier) = (Plain::mint(&entropy), Plain::mint(&entropy));
    let ear = loopback::Ear::open().await?;
    let name = name.unwrap_or_else(machine_name);
    let page = page(&remote, ear.port(), &state, &verifier, &name);
    println!("To sign in, open this address in a browser on this computer:\n\n  {page}\n");
    if open && browser::open(&page) {
        println!("It should have opened by itself. Waiting for your answer there …");
    }
    let code = ear.wait(&state).await?;
    let signed_in = remote.redeem(&code, &verifier).await?;
    let kept = Kept::new(remote.address(), signed_in, Clock::system().now());
    folder.write(&kept)?;
    println!("Signed in as {}.", kept.email);
    Ok(())
}

/// Says who is signed in, according to the server.
pub(super) async fn whoami() -> Outcome<()> {
    let folder = Folder::of_process()?;
    let mut kept = folder.read()?.ok_or_else(nobody)?;
    let remote = Remote::parse(&kept.server)?;
    if kept.is_stale(Clock::system().now()) {
        kept = renew(&folder, &remote, kept).await?;
    }
    let answer = match remote.me(&kept.access_token).await? {
        Answer::Refused => {
            kept = renew(&folder, &remote, kept).await?;
            remote.me(&kept.access_token).await?
        }
        said @ Answer::Said(_) => said,
    };
    match answer {
        Answer::Said(me) => {
            println!("{} at {}", me.email, kept.server);
            Ok(())
        }
        Answer::Refused => Err(ended(&folder)),
    }
}

/// Ends the session at the server and forgets the tokens, whether or not the server can be reached.
pub(super) async fn logout() -> Outcome<()> {
    let folder = Folder::of_process()?;
    let Some(mut kept) = folder.read()? else {
        println!("Nobody is signed in.");
        return Ok(());
    };
    let remote = Remote::parse(&kept.server)?;
    let told = async {
        if kept.is_stale(Clock::system().now()) {
            kept = renew(&folder, &remote, kept).await?;
        }
        remote.sign_out(&kept.access_token).await
    }
    .await;
    folder.remove()?;
    match told {
        Ok(_) => println!("Signed out."),
        Err(fault) => println!("The tokens on this computer are gone. The server could not be told: {fault}"),
    }
    Ok(())
}

/// Exchanges the refresh token, and keeps what comes before it is used: the old one is spent.
async fn renew(folder: &Folder, remote: &Remote, kept: Kept) -> Outcome<Kept> {
    match remote.refresh(&kept.refresh_token).await? {
        Answer::Said(signed_in) => {
            let renewed = Kept::new(remote.address(), signed_in, Clock::system().now());
            folder.write(&renewed)?;
            Ok(renewed)
        }
        Answer::Refused => Err(ended(folder)),
    }
}

fn ended(folder: &Folder) -> String {
    // A file that cannot be removed holds nothing that still works.
    let _ = folder.remove();
    String::from("your session has ended; sign in again with: labs-auth login --server URL")
}

fn nobody() -> String {
    String::from("nobody is signed in; sign in with: labs-auth login --server URL")
}

fn page(remote: &Remote, port: u16, state: &Plain, verifier: &Plain, name: &str) -> Url {
    let mut page = remote.url("/api/auth/cli-login");
    page.query_pairs_mut()
        .append_pair("port", &port.to_string())
        .append_pair("state", state.reveal())
        .append_pair("code_challenge", &verifier.pkce_challenge())
        .append_pair("code_challenge_method", "S256")
        .append_pair("name", &name.chars().filter(|sign| !is_invisible(*sign)).take(64).collect::<String>());
    page
}

/// What this machine calls itself.
fn machine_name() -> String {
    let name = std::fs::read_to_string("/etc/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| String::from("computer"))
}
