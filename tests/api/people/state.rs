//! Disabling, enabling, promoting, deleting, looking.

use labs_auth::{
    account::Email,
    people::{Refusal, bring::Role, look::Filter},
};
use serde_json::json;

use crate::{
    password::imported::people,
    world::{PASSWORD, Verbs, World},
};

const ACTS: &str = "SELECT act FROM audit_events WHERE network = 'cli' AND user_id = (SELECT id FROM users WHERE email = $1) ORDER BY id";

fn at(email: &str) -> Email {
    Email::parse(email).unwrap()
}

#[tokio::test]
async fn a_disabled_account_loses_its_sessions_and_links_and_gets_neither_back() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": anna.email})).await.is(202);
    let token = world.mailed_token(&anna.email, "/reset-password").await;
    let people = people(&world);
    people.disable(&at(&anna.email)).await.unwrap();
    assert!(!anna.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
    world.anonymous().login(&anna.email, PASSWORD).await.is_error(403, "AUTH_008");
    people.enable(&at(&anna.email)).await.unwrap();
    assert!(!anna.is_signed_in().await);
    let body = json!({"token": token, "new_password": "Another-Horse-2!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is_error(400, "AUTH_006");
    world.sign_in(&anna.email, PASSWORD).await;
    assert_eq!(world.db_texts(ACTS, &anna.email).await, ["account_disabled", "account_enabled"]);
}

#[tokio::test]
async fn a_role_is_given_and_taken_back_while_the_session_goes_on() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for (role, name) in [(Role::Admin, "admin"), (Role::User, "user")] {
        people(&world).promote(&at(&anna.email), role).await.unwrap();
        assert_eq!(anna.get("/api/auth/me").await.is(200).json()["role"], name);
    }
}

#[tokio::test]
async fn what_belongs_to_a_deleted_account_alone_goes_with_it() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let of_anna = "SELECT count(*) FROM workspaces w JOIN users u ON u.default_workspace_id = w.id WHERE u.email = $1";
    assert_eq!(world.db_number(of_anna, &anna.email).await, 1);
    people(&world).delete(&at(&anna.email)).await.unwrap();
    assert!(!anna.is_signed_in().await);
    assert_eq!(world.db_accounts_of(&anna.email).await, 0);
    let all = "SELECT count(*) FROM workspaces WHERE $1 <> ''";
    assert_eq!(world.db_number(all, "x").await, 0);
    let deleted = "SELECT count(*) FROM audit_events WHERE act = 'account_deleted' AND network = 'cli' AND $1 <> ''";
    assert_eq!(world.db_number(deleted, "x").await, 1);
    world.member_at(&anna.email, PASSWORD).await;
}

#[tokio::test]
async fn nobody_is_found_at_an_address_that_nobody_has() {
    let world = World::new().await;
    let people = people(&world);
    let nobody = at(&world.mailbox());
    assert!(matches!(people.disable(&nobody).await, Err(Refusal::Unknown(_))));
    assert!(matches!(people.enable(&nobody).await, Err(Refusal::Unknown(_))));
    assert!(matches!(people.promote(&nobody, Role::Admin).await, Err(Refusal::Unknown(_))));
    assert!(matches!(people.delete(&nobody).await, Err(Refusal::Unknown(_))));
    assert!(matches!(people.show(&nobody).await, Err(Refusal::Unknown(_))));
}

#[tokio::test]
async fn a_list_is_in_order_goes_on_where_it_ended_and_filters() {
    let world = World::new().await;
    let people = people(&world);
    for local in ["c", "a", "b"] {
        world.member_at(&world.mailbox_of(local), PASSWORD).await;
    }
    let waiting = world.mailbox_of("d");
    world.register(&waiting, PASSWORD).await.is(201);
    people.promote(&at(&world.mailbox_of("b")), Role::Admin).await.unwrap();
    people.disable(&at(&world.mailbox_of("c"))).await.unwrap();
    let list = async |filter: Filter| -> Vec<String> {
        let accounts = people.list(&Filter { limit: filter.limit.max(1), ..filter }).await.unwrap();
        accounts.into_iter().map(|account| account.email.split('@').next().unwrap().to_owned()).collect()
    };
    let all = Filter { limit: 10, ..Filter::default() };
    assert_eq!(list(all.clone()).await, ["a", "b", "c", "d"]);
    assert_eq!(list(Filter { limit: 2, ..all.clone() }).await, ["a", "b"]);
    assert_eq!(list(Filter { after: world.mailbox_of("b"), ..all.clone() }).await, ["c", "d"]);
    assert_eq!(list(Filter { role: Some(Role::Admin), ..all.clone() }).await, ["b"]);
    assert_eq!(list(Filter { active: Some(false), ..all.clone() }).await, ["c"]);
    assert_eq!(list(Filter { verified: Some(false), ..all }).await, ["d"]);
    world.sign_in(&world.mailbox_of("a"), PASSWORD).await;
    let (account, sessions) = people.show(&at(&world.mailbox_of("a"))).await.unwrap();
    assert_eq!((account.email, sessions), (world.mailbox_of("a"), 1));
}
