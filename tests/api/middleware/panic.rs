//! A panic in a room is an answer like any other. No hook in the service makes one: chance itself fails here.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use labs_auth::secret::RandomSource;

use crate::world::{PAGE, PASSWORD, Verbs, World};

/// Chance that gives out when it is asked for the 32 bytes of a secret. Ids and salts, which are shorter, still come.
#[derive(Clone, Default)]
struct Failing(Arc<AtomicBool>);

impl RandomSource for Failing {
    fn fill(&self, buffer: &mut [u8]) -> bool {
        let id = uuid::Uuid::new_v4().into_bytes();
        for (byte, chance) in buffer.iter_mut().zip(id.iter().chain(uuid::Uuid::new_v4().as_bytes()).cycle()) {
            *byte = *chance;
        }
        buffer.len() != 32 || !self.0.load(SeqCst)
    }
}

/// Chance that gives nothing at all once it has broken.
#[derive(Clone, Default)]
struct Gone(Arc<AtomicBool>);

impl RandomSource for Gone {
    fn fill(&self, buffer: &mut [u8]) -> bool {
        Failing::default().fill(buffer);
        !self.0.load(SeqCst)
    }
}

#[tokio::test]
async fn without_any_chance_every_request_still_has_an_id_and_an_answer() {
    let chance = Gone::default();
    let world = World::plan().chance(chance.clone()).build().await;
    let email = world.member().await;
    chance.0.store(true, SeqCst);
    let mut ids = HashSet::new();
    for _ in 0..3 {
        let reply = world.anonymous().get("/health").await;
        ids.insert(reply.is(200).header("x-request-id").unwrap().to_owned());
        let reply = world.anonymous().login(&email, PASSWORD).origin(PAGE).await;
        // The world compares the header with the id in the body.
        reply.is_error(500, "SYS_001");
        ids.insert(reply.header("x-request-id").unwrap().to_owned());
    }
    assert_eq!(ids.len(), 6, "{ids:?}");
    chance.0.store(false, SeqCst);
    world.sign_in(&email, PASSWORD).await;
}

#[tokio::test]
async fn a_panic_is_answered_with_an_id_in_a_form_that_a_page_can_read() {
    let chance = Failing::default();
    let world = World::plan().chance(chance.clone()).build().await;
    let email = world.member().await;
    chance.0.store(true, SeqCst);
    let reply = world.anonymous().login(&email, PASSWORD).origin(PAGE).await;
    reply.is_error(500, "SYS_001");
    assert_eq!(reply.field("error"), "An internal error occurred.");
    assert_eq!(reply.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(world.db_open_sessions_of(&email).await, 0);
    // The database is not left locked by the broken request.
    chance.0.store(false, SeqCst);
    world.sign_in(&email, PASSWORD).await;
}
