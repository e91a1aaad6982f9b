//! `GET /.well-known/webauthn`: on which other sites a browser may use the passkeys of the one that the host names.

use serde_json::json;

use super::{LABS, PARTNER, PRIMA, sites};
use crate::world::{HOST, Verbs, World};

const WELL_KNOWN: &str = "/.well-known/webauthn";

#[tokio::test]
async fn the_host_names_the_relying_party_and_apps_are_left_out() {
    let world = sites().await;
    for host in ["labs.example", "LABS.example:443", "labs.example."] {
        let reply = world.anonymous().get(WELL_KNOWN).only("host", host).await;
        assert_eq!(reply.is(200).json(), json!({"origins": [LABS, PARTNER]}));
    }
    let reply = world.anonymous().get(WELL_KNOWN).only("host", "prima.example").await;
    assert_eq!(reply.is(200).json(), json!({"origins": [PRIMA]}));
}

#[tokio::test]
async fn another_host_has_no_such_list() {
    let world = sites().await;
    for host in [HOST, "app.labs.example", "partner.example", "evil.example", "labs.example.evil.example"] {
        world.anonymous().get(WELL_KNOWN).only("host", host).await.is_error(404, "RES_001");
    }
    World::new().await.anonymous().get(WELL_KNOWN).only("host", "labs.example").await.is_error(404, "RES_001");
}
