//! Ten thousand completions that are wrong somewhere: none breaks the house, none signs anybody in.

use serde_json::{Value, json};

use super::{
    DISCOVERABLE_COMPLETE, LABS, LOGIN_COMPLETE, REGISTER_COMPLETE, begin_discoverable, begin_enrolment, begin_login,
    complete_body, db_passkeys_of, enrol, sites,
};
use crate::world::{
    Verbs, World,
    soft_passkey::{Maker, SoftPasskey, decode, encode},
};

const CASES: usize = 10_000;

/// Chance that is the same on every run (xorshift; Marsaglia, 2003).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Members that hold bytes.
const BINARY: [&str; 5] = ["authenticatorData", "clientDataJSON", "signature", "userHandle", "attestationObject"];

/// Changes one thing that matters, and returns what it was.
fn spoil(dice: &mut Dice, body: &mut Value) -> String {
    let credential = &mut body["credential"];
    let present: Vec<&str> = BINARY.into_iter().filter(|name| credential["response"][*name].is_string()).collect();
    if dice.below(3) > 0 {
        let name = *dice.pick(&present);
        let mut bytes = decode(&credential["response"][name]);
        let how = spoil_bytes(dice, &mut bytes);
        credential["response"][name] = json!(encode(bytes));
        return format!("{name}: {how}");
    }
    let stray = [
        json!(null),
        json!(7),
        json!(-1.5),
        json!(true),
        json!([]),
        json!({}),
        json!("*"),
        json!("A"),
        json!([[[1]]]),
        json!("\u{1F511}"),
        json!("a\u{0}b"),
        json!({"id": {"id": {}}}),
    ];
    let stray = dice.pick(&stray).clone();
    let own = ["id", "rawId", "type", "response"];
    match dice.below(4) {
        0 => {
            let name = *dice.pick(&own);
            credential[name] = stray;
            format!("{name} replaced")
        }
        1 => {
            let name = *dice.pick(&own);
            credential.as_object_mut().unwrap().remove(name);
            format!("{name} removed")
        }
        2 => {
            let name = *present.iter().find(|name| **name != "userHandle").unwrap();
            credential["response"][name] = if stray == json!({}) { Value::Null } else { stray };
            format!("response.{name} replaced")
        }
        _ => {
            let name = *dice.pick(&["challenge_id", "credential"]);
            body[name] = stray;
            format!("{name} replaced")
        }
    }
}

fn spoil_bytes(dice: &mut Dice, bytes: &mut Vec<u8>) -> &'static str {
    let at = dice.below(bytes.len());
    match dice.below(6) {
        0 | 1 => {
            bytes[at] ^= 1 << dice.below(8);
            "a bit"
        }
        2 => {
            bytes.truncate(at.max(1));
            "cut"
        }
        3 => {
            bytes.insert(at, bytes[at].wrapping_add(1));
            "longer"
        }
        4 => {
            let value = *dice.pick(&[0x00, 0x7f, 0x80, 0xff, 0x5f, 0xbf, 0x9f, 0x1b, 0x3b, 0x7b]);
            bytes[at] = if bytes[at] == value { !value } else { value };
            "a byte"
        }
        _ => {
            let end = (at + 9).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte = !*byte);
            "a stretch"
        }
    }
}

async fn fresh(
    world: &World,
    kind: usize,
    passkey: &mut SoftPasskey,
    email: &str,
    person: &crate::world::SignedIn,
) -> Value {
    match kind {
        0 => {
            let begun = begin_login(world, email, LABS).await;
            complete_body(&begun, &passkey.get(&begun["options"]))
        }
        1 => {
            let begun = begin_discoverable(world, LABS).await;
            complete_body(&begun, &passkey.get(&begun["options"]))
        }
        _ => {
            let begun = begin_enrolment(person, LABS).await;
            complete_body(&begun, &Maker::on(LABS).make(&begun["options"]).1)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_wrong_completions_break_nothing_and_open_nothing() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let mut dice = Dice(0x5eed_1ab5_0a07_4001);
    let paths = [LOGIN_COMPLETE, DISCOVERABLE_COMPLETE, REGISTER_COMPLETE];
    let mut live = [const { None::<Value> }; 3];
    let (mut reached, mut unread) = (0, 0);
    for number in 0..CASES {
        // An enrolment without attestation is hardly signed, so most of the dice go to the sign-ins.
        let kind = [0, 1, 0, 1, 2][number % 5];
        let mut body = match &live[kind] {
            Some(body) => body.clone(),
            None => fresh(&world, kind, &mut passkey, &person.email, &person).await,
        };
        live[kind] = Some(body.clone());
        let what = spoil(&mut dice, &mut body);
        let reply = match kind {
            2 => person.post(paths[kind], body).await,
            _ => world.anonymous().post(paths[kind], body).await,
        };
        let status = reply.status.as_u16();
        match (kind, status) {
            (_, 422) => unread += 1,
            (0 | 1, 400 | 401) | (2, 400 | 409 | 201) => {
                reached += 1;
                live[kind] = None;
            }
            _ => panic!("case {number}, {what}: {reply:?}"),
        }
        assert!(
            reply.cookies().iter().all(|line| !line.starts_with("labs_refresh")),
            "case {number}, {what}: {reply:?}"
        );
        if status == 201 {
            let path = format!("{}/{}", super::CREDENTIALS, reply.field("id"));
            person.delete(&path).await.is(204);
        }
    }
    assert!(reached > CASES / 3 && unread > CASES / 10, "{reached} reached a ceremony, {unread} were not read");
    assert_eq!(world.db_open_sessions_of(&person.email).await, 1);
    assert_eq!(db_passkeys_of(&world, &person.email).await, 1);
    super::sign_in_with(&world, &mut passkey, &person.email).await.is(200);
}
