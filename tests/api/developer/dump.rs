//! What a sign-up leaves behind: nowhere the key, nowhere the token, the address only where it belongs.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use redis::cmd;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::{ACCOUNTS, SIBLING, me, signup_token, verify};
use crate::world::{Verbs, World};

/// The columns that may hold a clear address.
const OWN_COLUMNS: [(&str, &str); 3] =
    [("users", "email"), ("developer_signups", "email"), ("mail_outbox", "recipient")];

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Every key in Redis, and what stands under it.
async fn redis_dump() -> Vec<(String, String)> {
    let Ok(url) = std::env::var("TEST_REDIS_URL") else { return Vec::new() };
    let mut connection = redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap();
    let keys: Vec<String> = cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap();
    let mut found = Vec::new();
    for key in keys {
        let value: Option<String> = cmd("GET").arg(&key).query_async(&mut connection).await.unwrap_or_default();
        found.push((key, value.unwrap_or_default()));
    }
    found
}

fn hexadecimal(text: &str) -> String {
    text.bytes().fold(String::new(), |text, byte| {
        let high = char::from_digit(u32::from(byte >> 4), 16).unwrap();
        let low = char::from_digit(u32::from(byte & 15), 16).unwrap();
        text + &String::from_iter([high, low])
    })
}

// case 307
#[tokio::test]
async fn no_table_no_log_and_no_redis_key_holds_the_key_the_token_or_a_stray_address() {
    crate::limit::world::second_subscriber();
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let world = World::plan().set("SERVICE_KEYS", SIBLING).build().await;
    let email = world.mailbox();
    let body = json!({"email": email, "name": "Dora", "company": "Dora AG", "accept_terms": true});
    world.anonymous().post(ACCOUNTS, body.clone()).await.is(202);
    let pending = world.db_dump().await;
    let token = signup_token(&world, &email).await;
    let key = verify(&world, &token).await.is(201).json()["api_key"]["key"].as_str().unwrap().to_owned();
    me(&world, &key).await.is(200);
    verify(&world, &token).await.is_error(400, "AUTH_006");
    // Past the mailbox's hour, so that a refusal is logged too.
    for _ in 0..3 {
        world.anonymous().post(ACCOUNTS, body.clone()).await;
    }

    let secrets = [key.as_str(), &key[9..], token.as_str()];
    let mut dump = world.db_dump().await;
    assert!(dump.iter().any(|(table, column, _)| (table.as_str(), column.as_str()) == ("api_keys", "hash")));
    assert!(pending.iter().any(|(table, ..)| table == "mail_outbox"), "the dump saw the mail on its way");
    dump.extend(pending);
    for (table, column, value) in &dump {
        let value = value.to_lowercase();
        for secret in secrets.map(str::to_lowercase) {
            assert!(
                !value.contains(&secret) && !value.contains(&hexadecimal(&secret)),
                "{table}.{column} holds a secret"
            );
        }
        for secret in secrets {
            assert!(!value.contains(&hexadecimal(secret)), "{table}.{column} holds a secret");
        }
        if !OWN_COLUMNS.contains(&(table, column)) {
            assert!(
                !value.contains(&email) && !value.contains(&hexadecimal(&email)),
                "{table}.{column} holds the address"
            );
        }
    }

    let log = log.text();
    assert!(
        log.contains("Developer verified") && log.contains("Signup rate limit exceeded"),
        "the log was seen: {log}"
    );
    for told in secrets.into_iter().chain([email.as_str()]) {
        let line = log.lines().find(|line| line.contains(told));
        assert!(line.is_none(), "the log holds a secret or an address: {line:?}");
    }

    let mailbox_bucket = format!("rate_limit:prima_signup:email:{email}");
    for (name, value) in redis_dump().await {
        for secret in secrets {
            assert!(!name.contains(secret) && !value.contains(secret), "{name}");
        }
        assert!(!value.contains(&email) && (name == mailbox_bucket || !name.contains(&email)), "{name}");
    }
}
