//! The list of breached passwords: found by its hash on disk, refused as common, and judged when the service starts.

use std::{fmt::Write, fs, path::Path};

use labs_auth::{
    config::{Settings, Variables},
    password::BreachList,
};
use serde_json::json;

use crate::world::{Verbs, World};

/// Passwords and their SHA-1, by `printf %s … | sha1sum`. The second is in UTF-8 and NFC.
const BREACHED: [(&str, &str); 3] = [
    ("Tr0ub4dor&3-x", "BCFE26B5F330013055919060F70DC7D65561B4A6"),
    ("Gr\u{fc}ezi-mitenand", "3F42471E8E82674DB263AA1502F35F2BBA9C55AF"),
    ("Hello-World-77", "5E5495EB92AEF559C96CB0D631D490D2A7965B66"),
];

/// A sorted list with these three and `others` more, each line ended by `end`.
fn list(folder: &Path, others: u64, line: impl Fn(&str, u64) -> String) -> std::path::PathBuf {
    let spread = |number: u64| format!("{:016X}{number:024X}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut hashes: Vec<String> = (0..others).map(spread).chain(BREACHED.map(|(_, hash)| hash.to_owned())).collect();
    hashes.sort();
    let mut text = String::new();
    for (number, hash) in hashes.iter().enumerate() {
        text.write_str(&line(hash, number as u64)).unwrap();
    }
    let path = folder.join("breached.txt");
    fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn every_entry_is_found_and_nothing_else_whatever_the_lines_look_like() {
    let folder = tempfile::tempdir().unwrap();
    let shapes: [fn(&str, u64) -> String; 4] = [
        |hash, number| format!("{hash}:{}\n", number * number * 7919),
        |hash, number| format!("{hash}:{number}\r\n"),
        |hash, _| format!("{}\n", hash.to_lowercase()),
        |hash, number| format!("{hash}:{number:020}\n"),
    ];
    for shape in shapes {
        for others in [0, 1, 2, 3, 1000] {
            let path = list(folder.path(), others, shape);
            let whole = fs::read_to_string(&path).unwrap();
            for text in [whole.as_str(), whole.trim_end()] {
                fs::write(&path, text).unwrap();
                let list = BreachList::open(&path).unwrap();
                for (password, _) in BREACHED {
                    assert!(list.holds(password).await.unwrap(), "{others} others");
                }
                for absent in ["", "hello-world-77", "Hello-World-77 ", "Correct-Horse-9!"] {
                    assert!(!list.holds(absent).await.unwrap());
                }
            }
        }
    }
    // The first and the last line are found too.
    for (password, hash) in BREACHED {
        let path = folder.path().join("one.txt");
        for text in [
            format!("{hash}:3\n{}:1\n", "F".repeat(40)),
            format!("{}:1\n{hash}:3", "0".repeat(40)),
            format!("{hash}\n"),
        ] {
            fs::write(&path, text).unwrap();
            assert!(BreachList::open(&path).unwrap().holds(password).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_breached_password_is_refused_as_a_common_one_wherever_one_is_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path(), 500, |hash, number| format!("{hash}:{number}\n"));
    let world = World::with(&[("PASSWORD_BREACH_FILE", path.to_str().unwrap())]).await;
    let common = json!({"reasons": ["common"]});
    for (password, _) in BREACHED {
        let refused = world.register(&world.mailbox(), password).await;
        assert_eq!(refused.is_error(422, "VAL_002").json()["details"], common);
    }
    // The list holds the NFC form; another form of the same password is the same password.
    let refused = world.register(&world.mailbox(), "Gru\u{308}ezi-mitenand").await;
    assert_eq!(refused.is_error(422, "VAL_002").json()["details"], common);
    let anna = world.signed_in().await;
    let body = json!({"current_password": crate::world::PASSWORD, "new_password": BREACHED[0].0});
    assert_eq!(anna.post("/api/auth/change-password", body).await.is_error(422, "VAL_002").json()["details"], common);
    // A policy that refuses does not spend the link.
    world.anonymous().post("/api/auth/forgot-password", json!({"email": anna.email})).await.is(202);
    let token = world.mailed_token(&anna.email, "/reset-password").await;
    let reset = |password: &str| {
        world.anonymous().post("/api/auth/reset-password", json!({"token": token, "new_password": password}))
    };
    assert_eq!(reset(BREACHED[2].0).await.is_error(422, "VAL_002").json()["details"], common);
    reset("hello-World-77").await.is(200);
}

#[test]
fn a_list_that_cannot_serve_stops_the_start_with_the_name_of_its_variable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.txt");
    let sorted = list(folder.path(), 2000, |hash, number| format!("{hash}:{number}\n"));
    let lines = fs::read_to_string(sorted).unwrap();
    let mut backwards: Vec<&str> = lines.lines().collect();
    backwards.reverse();
    let by_count = backwards.join("\n");
    let texts = [
        (String::new(), "must name a file that is not empty"),
        (String::from("password\n"), "holds a line that is not SHA1:COUNT"),
        (lines.replace(':', ";"), "holds a line that is not SHA1:COUNT"),
        ("A".repeat(10_000), "holds a line that is not SHA1:COUNT"),
        (by_count, "is not sorted by hash"),
    ];
    let fault = |path: &Path| {
        let mut variables = Variables::default();
        variables.set("PASSWORD_BREACH_FILE", path.to_str().unwrap());
        let faults = Settings::read(&variables).unwrap_err();
        faults.iter().map(ToString::to_string).find(|fault| fault.starts_with("PASSWORD_BREACH_FILE")).unwrap()
    };
    for (text, expected) in texts {
        fs::write(&path, text).unwrap();
        let fault = fault(&path);
        assert!(fault.contains(expected), "{fault}");
    }
    assert!(fault(&folder.path().join("absent")).contains("cannot be read"));
    assert!(fault(folder.path()).contains("must name a file"));
}
