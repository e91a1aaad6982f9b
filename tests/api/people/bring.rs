//! Bringing people along: once, whole, and with a workspace of their own.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use labs_auth::{
    account::{FullName, Locale, WorkspaceName},
    people::{
        People,
        bring::{Keep, Newcomer, Role},
    },
    secret::{Entropy, RandomSource},
};

use crate::{
    password::imported::{newcomer, people},
    world::{PASSWORD, Verbs, World},
};

const SLUGS: &str = "SELECT w.slug FROM workspaces w JOIN users u ON u.default_workspace_id = w.id
                     JOIN workspace_members m ON m.workspace_id = w.id AND m.user_id = u.id AND m.role = 'owner'
                     WHERE u.email = $1";

#[tokio::test]
async fn a_file_may_be_brought_twice_and_nobody_who_is_here_is_touched() {
    let world = World::new().await;
    let member = world.member().await;
    let batch: Vec<Newcomer> = (0..3)
        .map(|number| newcomer(&world.mailbox_of(&format!("p{number}")), None))
        .chain([Newcomer { role: Role::Admin, email_verified: false, ..newcomer(&member, None) }])
        .collect();
    let people = people(&world);
    assert_eq!(people.bring(&batch, Keep::DryRun).await.unwrap(), 3);
    assert_eq!(world.db_accounts_of(&world.mailbox_of("p0")).await, 0);
    assert_eq!(people.bring(&batch, Keep::Yes).await.unwrap(), 3);
    assert_eq!(people.bring(&batch, Keep::Yes).await.unwrap(), 0);
    assert_eq!(people.bring(&[], Keep::Yes).await.unwrap(), 0);
    let anna = world.sign_in(&member, PASSWORD).await;
    let me = anna.get("/api/auth/me").await;
    assert_eq!((&me.json()["role"], &me.json()["email_verified"]), (&"user".into(), &true.into()));
}

#[tokio::test]
async fn everybody_who_is_confirmed_owns_a_workspace_and_equal_names_get_a_number() {
    let world = World::new().await;
    let name = format!("Atelier M\u{fc}ller {:08x}", crate::world::random() >> 96);
    let named = |local: &str| Newcomer {
        workspace_name: Some(WorkspaceName(name.clone())),
        ..newcomer(&world.mailbox_of(local), None)
    };
    let slugless =
        Newcomer { full_name: Some(FullName(String::from("\u{738b}"))), ..newcomer(&world.mailbox_of("wang"), None) };
    let unconfirmed = Newcomer { email_verified: false, ..named("later") };
    people(&world)
        .bring(&[named("one"), named("two"), named("three"), slugless, unconfirmed], Keep::Yes)
        .await
        .unwrap();
    let mut slugs = Vec::new();
    for local in ["one", "two", "three"] {
        slugs.extend(world.db_texts(SLUGS, &world.mailbox_of(local)).await);
    }
    let plain = name.to_lowercase().replace('\u{fc}', "ue").replace(' ', "-");
    assert_eq!(slugs.len(), 3);
    assert_eq!(slugs.iter().filter(|slug| **slug == plain).count(), 1, "{slugs:?}");
    assert!(slugs.iter().all(|slug| slug.starts_with(&plain)), "{slugs:?}");
    let numbered = world.db_texts(SLUGS, &world.mailbox_of("wang")).await;
    assert!(numbered[0].starts_with("workspace-"), "{numbered:?}");
    assert!(world.db_texts(SLUGS, &world.mailbox_of("later")).await.is_empty());
}

#[tokio::test]
async fn what_was_brought_is_what_the_person_sees() {
    let world = World::new().await;
    let (_, hash) = ("bcrypt", "$2b$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW");
    let email = world.mailbox();
    let newcomer = Newcomer {
        full_name: Some(FullName(String::from("Anna Muster"))),
        locale: Locale::Fr,
        role: Role::Admin,
        created_at: Some(labs_auth::clock::Timestamp::from_micros(1_600_000_000_000_000)),
        ..newcomer(&email, Some(hash))
    };
    people(&world).bring(&[newcomer], Keep::Yes).await.unwrap();
    let anna = world.sign_in(&email, "Gr\u{fc}ezi-W\u{e4}lt-2026").await;
    let me = anna.get("/api/auth/me").await;
    let me = me.is(200).json();
    assert_eq!((&me["full_name"], &me["locale"], &me["role"]), (&"Anna Muster".into(), &"fr".into(), &"admin".into()));
    assert_eq!((&me["created_at"], &me["has_password"]), (&"2020-09-13T12:26:40Z".into(), &true.into()));
    // Unconfirmed and disabled accounts are told so once the password was right, as anybody's.
    let brought = |email: &str, verified, active| Newcomer {
        email_verified: verified,
        is_active: active,
        ..crate::password::imported::newcomer(email, Some(hash))
    };
    let (waiting, shut) = (world.mailbox(), world.mailbox());
    people(&world).bring(&[brought(&waiting, false, true), brought(&shut, true, false)], Keep::Yes).await.unwrap();
    world.anonymous().login(&waiting, "Gr\u{fc}ezi-W\u{e4}lt-2026").await.is_error(403, "AUTH_007");
    world.anonymous().login(&shut, "Gr\u{fc}ezi-W\u{e4}lt-2026").await.is_error(403, "AUTH_008");
}

/// Chance that gives ids for a while and then the same one for ever.
struct Stuck(AtomicUsize);

impl RandomSource for Stuck {
    fn fill(&self, buffer: &mut [u8]) -> bool {
        let good = self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        let id = if good { uuid::Uuid::new_v4() } else { uuid::Uuid::nil() };
        buffer.iter_mut().zip(id.into_bytes()).for_each(|(byte, chance)| *byte = chance);
        true
    }
}

#[tokio::test]
async fn a_large_batch_is_brought_whole_or_not_at_all() {
    // More than two statements of 500 rows, the last one short.
    const MANY: usize = 1203;
    let world = World::new().await;
    let batch: Vec<Newcomer> =
        (0..MANY).map(|number| newcomer(&world.mailbox_of(&format!("many{number}")), None)).collect();
    let count = async |sql| world.db_number(sql, "x").await;
    let (users, homes, owners) = (
        "SELECT count(*) FROM users WHERE $1 <> ''",
        "SELECT count(*) FROM workspaces WHERE $1 <> ''",
        "SELECT count(*) FROM workspace_members WHERE $1 <> ''",
    );
    // The accounts go in; of the workspaces two have one id.
    let broken = People { entropy: Entropy::from_source(Stuck(AtomicUsize::new(2 * MANY - 2))), ..people(&world) };
    assert!(broken.bring(&batch, Keep::Yes).await.is_err());
    assert_eq!((count(users).await, count(homes).await, count(owners).await), (0, 0, 0));
    assert_eq!(count("SELECT count(*) FROM audit_events WHERE $1 <> ''").await, 0);
    assert_eq!(people(&world).bring(&batch, Keep::Yes).await.unwrap(), MANY);
    let many = i64::try_from(MANY).unwrap();
    assert_eq!((count(users).await, count(homes).await, count(owners).await), (many, many, many));
    let told = world.db_texts("SELECT act || ' ' || detail FROM audit_events WHERE $1 <> ''", "x").await;
    assert_eq!(told, ["accounts_imported 1203 accounts"]);
}
