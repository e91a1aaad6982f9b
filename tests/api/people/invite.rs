//! Invitations: a link for a week, a workspace at acceptance, and no way around a confirmed account.

use std::time::Duration;

use labs_auth::{
    account::{Email, Locale, WorkspaceName},
    people::{
        Refusal,
        bring::Role,
        invite::{Invitation, Invitations},
    },
    public_url::PublicUrl,
};
use serde_json::json;

use crate::{
    password::imported::people,
    world::{FRONTEND, PASSWORD, Verbs, World},
};

fn invitations(world: &World) -> Invitations {
    let passwords = &world.app().passwords;
    Invitations {
        people: people(world),
        tickets: passwords.tickets.clone(),
        post: passwords.post.clone(),
        frontend: PublicUrl::parse(FRONTEND).unwrap(),
    }
}

fn invitation(email: &str) -> Invitation {
    Invitation {
        email: Email::parse(email).unwrap(),
        full_name: None,
        locale: Locale::En,
        workspace_name: Some(WorkspaceName(String::from("Team Tulip"))),
        role: Role::Admin,
    }
}

const WEEK: Duration = Duration::from_hours(7 * 24);
const LAST_SECOND: Duration = Duration::from_secs(7 * 24 * 60 * 60 - 1);

#[tokio::test]
async fn an_invitation_is_good_for_a_week_and_says_so() {
    let world = World::on_memory().await;
    let email = world.mailbox();
    invitations(&world).invite(&invitation(&email)).await.unwrap();
    let mails = world.mails_to(&email).await;
    assert_eq!(mails.len(), 1);
    assert!(mails[0].text.contains("7 days"), "{}", mails[0].text);
    let token = world.mailed_token(&email, "/set-password").await;
    world.advance(LAST_SECOND);
    let reply = world.anonymous().post("/api/auth/set-password", json!({"token": token, "password": PASSWORD})).await;
    let user = &reply.is(200).json()["user"];
    assert_eq!((&user["role"], &user["email_verified"]), (&"admin".into(), &true.into()));
    let name = world.db_texts(
        "SELECT w.name FROM workspaces w JOIN users u ON u.default_workspace_id = w.id WHERE u.email = $1",
        &email,
    );
    assert_eq!(name.await, ["Team Tulip"]);
    world.sign_in(&email, PASSWORD).await;
}

#[tokio::test]
async fn after_a_week_the_link_is_a_bad_link() {
    let world = World::on_memory().await;
    let email = world.mailbox();
    invitations(&world).invite(&invitation(&email)).await.unwrap();
    let token = world.mailed_token(&email, "/set-password").await;
    world.advance(WEEK);
    let body = json!({"token": token, "password": PASSWORD});
    world.anonymous().post("/api/auth/set-password", body).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn somebody_who_typed_the_address_first_keeps_no_password_behind_it() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let planted = world.mailed_token(&email, "/verify-email").await;
    invitations(&world).invite(&invitation(&email)).await.unwrap();
    world.anonymous().post("/api/auth/verify-email", json!({"token": planted})).await;
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
}

#[tokio::test]
async fn a_confirmed_a_disabled_and_an_often_invited_address_are_refused() {
    let world = World::new().await;
    let invitations = invitations(&world);
    let member = world.member().await;
    assert!(matches!(invitations.invite(&invitation(&member)).await, Err(Refusal::AlreadyHere)));
    world.sign_in(&member, PASSWORD).await;
    let shut = world.unconfirmed().await;
    world.db_disable(&shut).await;
    assert!(matches!(invitations.invite(&invitation(&shut)).await, Err(Refusal::Disabled)));
    let often = world.mailbox();
    for _ in 0..5 {
        invitations.invite(&invitation(&often)).await.unwrap();
    }
    assert!(matches!(invitations.invite(&invitation(&often)).await, Err(Refusal::EnoughLinks)));
    assert_eq!(world.mails_to(&often).await.len(), 5);
}
