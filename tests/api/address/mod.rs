//! Changing the address of an account: asked for, confirmed, undone.

mod ask;
mod confirm;
mod undo;

use serde_json::json;

use crate::world::{PASSWORD, Reply, SignedIn, Verbs, World};

const CHANGE: &str = "/api/auth/change-email";
const CONFIRM: &str = "/api/auth/confirm-email";
const UNDO: &str = "/api/auth/undo-email";

async fn ask(person: &SignedIn, new: &str) -> Reply {
    person.post(CHANGE, json!({"new_email": new, "current_password": PASSWORD})).await
}

async fn redeem(world: &World, path: &str, token: &str) -> Reply {
    world.anonymous().post(path, json!({"token": token})).await
}

/// Moves a person over to a new mailbox, which is returned.
async fn moved(world: &World, person: &SignedIn) -> String {
    let new = world.mailbox();
    ask(person, &new).await.is(202);
    let token = world.mailed_token(&new, "/confirm-email").await;
    redeem(world, CONFIRM, &token).await.is(200);
    new
}
