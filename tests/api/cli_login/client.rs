//! `labs-auth login`, `whoami` and `logout`: the real program against the real listener, with this test as the browser.

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use url::Url;

use super::{form_of, press};
use crate::world::{SignedIn, Verbs, World};

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_labs-auth"));
    command.env_clear().env("XDG_CONFIG_HOME", home).stdin(Stdio::null());
    command
}

fn say(home: &Path, word: &str) -> Output {
    program(home).arg(word).output().unwrap()
}

/// A navigation of the browser on the loopback interface.
async fn visit(url: &Url) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
    let target = &url[url::Position::BeforePath..];
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Runs `login` until it has printed its page, answers in the browser, and waits for the end.
async fn log_in(world: &World, server: &str, home: &Path, anna: &SignedIn, decision: &'static str) -> (bool, String) {
    let mut child = program(home)
        .args(["login", "--no-browser", "--name", "Annas Laptop", "--server", server])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let page = lines.find_map(|line| Url::parse(line.unwrap().trim()).ok()).unwrap();
    let ask = world.anonymous().get(&page[url::Position::BeforePath..]);
    let shown = ask.header("cookie", format!("labs_refresh={}", anna.refresh)).await;
    let answer = press(world, &anna.refresh, &form_of(shown.is(200)), decision).await;
    let back = Url::parse(answer.is(303).header("location").unwrap()).unwrap();
    // Browsers open connections on suspicion. As long as these stay silent, five seconds each, others are heard.
    let silent = join_all((0..3).map(|_| TcpStream::connect(("127.0.0.1", back.port().unwrap())))).await;
    let begun = Instant::now();
    // Other programs and pages may knock; none of them is the answer.
    for stray in ["/favicon.ico", "/callback?code=x&state=another-state-here", "/callback", "/"] {
        assert!(visit(&back.join(stray).unwrap()).await.starts_with("HTTP/1.1 404"));
    }
    assert!(visit(&back).await.starts_with("HTTP/1.1 200"));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(silent);
    tokio::task::spawn_blocking(move || {
        let ended = child.wait().unwrap().success();
        let mut said: String = lines.map(Result::unwrap).collect();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (ended, said)
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_signs_in_says_who_it_is_and_signs_out() {
    let world = World::new().await;
    let server = world.serve().await;
    let anna = world.signed_in().await;
    let home = tempfile::tempdir().unwrap();
    let address = format!("http://{}", server.address);
    let nobody = say(home.path(), "whoami");
    assert!(!nobody.status.success() && String::from_utf8_lossy(&nobody.stderr).contains("nobody is signed in"));

    let (ended, said) = log_in(&world, &address, home.path(), &anna, "deny").await;
    assert!(!ended && said.contains("cancelled"), "{said}");
    let (ended, said) = log_in(&world, &address, home.path(), &anna, "allow").await;
    assert!(ended && said.contains(&format!("Signed in as {}.", anna.email)), "{said}");

    let file = home.path().join("labs-auth/session.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let me = say(home.path(), "whoami");
    assert!(me.status.success() && String::from_utf8_lossy(&me.stdout).contains(&anna.email), "{me:?}");

    // An access token that has ended is renewed; the file then holds its successor.
    let kept = std::fs::read_to_string(&file).unwrap();
    let mut stale: serde_json::Value = serde_json::from_str(&kept).unwrap();
    stale["expires_at"] = 0.into();
    std::fs::write(&file, stale.to_string()).unwrap();
    assert!(say(home.path(), "whoami").status.success());
    assert_ne!(std::fs::read_to_string(&file).unwrap(), kept);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    assert_eq!(world.db_open_sessions_of(&anna.email).await, 2);
    assert!(say(home.path(), "logout").status.success());
    assert!(!file.exists());
    assert_eq!(world.db_open_sessions_of(&anna.email).await, 1);
    assert!(say(home.path(), "logout").status.success(), "nobody to sign out is no fault");
}

#[test]
fn the_program_sends_no_credential_in_clear_to_another_machine() {
    let home = tempfile::tempdir().unwrap();
    for server in ["http://auth.labs.example", "ftp://localhost", "nonsense", "https://user@auth.labs.example"] {
        let output = program(home.path()).args(["login", "--no-browser", "--server", server]).output().unwrap();
        assert!(!output.status.success(), "{server}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--server"), "{output:?}");
    }
}
