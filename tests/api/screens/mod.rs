//! The hosted screens: where mailed links lead, and nothing where nobody asked for them. What they do, a browser proves.

use std::collections::BTreeSet;

use labs_auth::screens::{ASSETS, DOCUMENT, PATHS};
use serde_json::json;
use url::Url;

use crate::world::{PASSWORD, Verbs, World};

#[tokio::test]
async fn every_screen_and_what_it_loads_is_there_when_shown_and_not_otherwise() {
    let (shown, hidden) = (World::with(&[("HOSTED_SCREENS", "true")]).await, World::new().await);
    let files = PATHS.map(|path| (path, DOCUMENT)).into_iter().chain(ASSETS);
    for (path, asset) in files {
        let reply = shown.anonymous().get(path).await;
        assert_eq!(String::from_utf8_lossy(&reply.is(200).body), asset.text, "{path}");
        hidden.anonymous().get(path).await.is_error(404, "RES_001");
    }
    for (name, _) in ASSETS {
        let loaded = name.rsplit('/').next().unwrap();
        let sources = [DOCUMENT.text, ASSETS[1].1.text];
        assert!(sources.iter().any(|text| text.contains(loaded)), "nothing loads {name}");
    }
}

#[tokio::test]
async fn every_link_that_is_mailed_to_a_person_leads_to_a_screen() {
    let world = World::with(&[("HOSTED_SCREENS", "true")]).await;
    let pages = mailed_pages(&world).await;
    let known: BTreeSet<String> = PATHS.iter().map(|path| (*path).to_owned()).collect();
    assert!(pages.is_subset(&known), "{:?}", pages.difference(&known));
    assert_eq!(pages.len(), 9, "{pages:?}");
}

/// The pages to which the mails of one person lead.
async fn mailed_pages(world: &World) -> BTreeSet<String> {
    let anna = world.signed_in().await;
    let moved = world.mailbox();
    let somebody = world.anonymous();
    let email = json!({"email": anna.email});
    somebody.post("/api/auth/request-magic-link", email.clone()).await.is(202);
    somebody.post("/api/auth/forgot-password", email.clone()).await.is(202);
    somebody.post("/api/auth/register", json!({"email": anna.email, "password": PASSWORD})).await.is(201);
    let change = json!({"new_email": moved, "current_password": PASSWORD});
    anna.post("/api/auth/change-email", change).await.is(202);
    world.db_forget_password(&anna.email).await;
    somebody.post("/api/auth/forgot-password", email).await.is(202);
    let developer = world.mailbox();
    somebody.post("/api/prima/v1/accounts", json!({"email": developer})).await.is(202);
    let mut links = Vec::new();
    for mailbox in [&anna.email, &moved, &developer] {
        links.extend(world.mails_to(mailbox).await.iter().flat_map(crate::world::Mail::links));
    }
    links.iter().map(|link| Url::parse(link).unwrap().path().to_owned()).collect()
}
