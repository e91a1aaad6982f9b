//! What a caller may rely on whichever store decides. Each behaviour is one function, stamped once per store.

use std::{sync::Arc, time::Duration};

use labs_auth::limit::{Attempt, Bucket, Charge, MailScope, Verdict};
use uuid::Uuid;

use super::world::{LOGIN, Log, Store, admitted, hit, mailbox, somebody, steadily};

macro_rules! on_both_stores {
    ($($(#[$($threads:tt)*])? $behaviour:ident)*) => {
        mod on_memory {
            $(#[tokio::test$(($($threads)*))?] async fn $behaviour() { super::$behaviour(super::Store::memory()).await; })*
        }
        mod on_redis {
            $(#[tokio::test$(($($threads)*))?] async fn $behaviour() {
                super::steadily(|limiter, connection| super::$behaviour(super::Store::redis(limiter, connection))).await;
            })*
        }
    };
}

on_both_stores! {
    #[flavor = "multi_thread"] of_a_hundred_parallel_requests_exactly_the_quota_is_admitted
    every_bucket_admits_exactly_its_quota
    a_refusal_spends_what_stands_before_it_and_nothing_behind_it
    an_ended_window_counts_from_nothing
    a_wait_is_positive_and_at_most_the_window
    routes_clients_and_scopes_have_budgets_of_their_own
    a_refusal_is_logged_once_per_key_and_window
    a_mailbox_is_logged_as_its_fingerprint_and_at_sign_up_not_at_all
}

// case 165
async fn of_a_hundred_parallel_requests_exactly_the_quota_is_admitted(store: Store) {
    let client = somebody();
    let charge = Arc::new(Charge::auth(LOGIN, &client));
    let requests = (0..100).map(|_| {
        let (limiter, client, charge) = (store.limiter.clone(), client, charge.clone());
        tokio::spawn(async move { hit(&limiter, std::slice::from_ref(&*charge), &client).await })
    });
    let mut passed = 0;
    for request in requests.collect::<Vec<_>>() {
        passed += usize::from(request.await.unwrap() == Verdict::Admitted);
    }
    assert_eq!(passed, 30);
}

async fn every_bucket_admits_exactly_its_quota(store: Store) {
    let client = somebody();
    let quotas = *store.limiter.quotas();
    let charges = [
        Charge::public_ip(&client),
        Charge::auth(LOGIN, &client),
        Charge::auth_email(MailScope::PasswordReset, mailbox()),
        Charge::signup_ip(&client),
        Charge::signup_email(mailbox()),
    ];
    for charge in charges {
        let quota = usize::try_from(charge.bucket().quota(&quotas)).unwrap();
        assert_eq!(admitted(&store.limiter, &charge, &client, quota + 3).await, quota, "{charge:?}");
    }
}

async fn a_refusal_spends_what_stands_before_it_and_nothing_behind_it(store: Store) {
    let client = somebody();
    let (ip, auth) = (Charge::signup_ip(&client), Charge::auth(LOGIN, &client));
    let mail = Charge::auth_email(MailScope::MagicLink, mailbox());
    assert_eq!(admitted(&store.limiter, &mail, &client, 10).await, 10);

    // The exhausted mailbox refuses; the bucket before it is charged, the one behind it is not.
    let all = [auth, mail, ip];
    for _ in 0..20 {
        assert_eq!(refused_by(store.hit(&all, &client).await), Some(Bucket::AuthEmail(MailScope::MagicLink)));
    }
    assert_eq!(admitted(&store.limiter, &ip, &client, 6).await, 5);
    assert_eq!(admitted(&store.limiter, &auth, &client, 31).await, 10);
    assert_eq!(refused_by(store.hit(&all, &client).await), Some(Bucket::Auth));
}

fn refused_by(verdict: Verdict) -> Option<Bucket> {
    match verdict {
        Verdict::Admitted => None,
        Verdict::Refused(refusal) => Some(refusal.bucket()),
    }
}

async fn an_ended_window_counts_from_nothing(mut store: Store) {
    let client = somebody();
    let charge = Charge::auth(LOGIN, &client);
    assert_eq!(admitted(&store.limiter, &charge, &client, 31).await, 30);
    store.pass_window(&charge).await;
    assert_eq!(admitted(&store.limiter, &charge, &client, 31).await, 30);
}

// case 167
async fn a_wait_is_positive_and_at_most_the_window(store: Store) {
    let client = somebody();
    let charge = Charge::signup_ip(&client);
    assert_eq!(admitted(&store.limiter, &charge, &client, 5).await, 5);
    let Verdict::Refused(refusal) = store.hit(&[charge], &client).await else { panic!("admitted") };
    assert!(refusal.wait() > Duration::from_secs(3500) && refusal.wait() <= Duration::from_hours(1));
    assert!((1..=3600).contains(&refusal.retry_after().seconds()));
    assert_eq!(refusal.sentence(), "Too many signup attempts. Please try again later.");
}

async fn routes_clients_and_scopes_have_budgets_of_their_own(store: Store) {
    let (client, other, mail) = (somebody(), somebody(), mailbox());
    assert_eq!(admitted(&store.limiter, &Charge::auth(LOGIN, &client), &client, 31).await, 30);
    assert_eq!(admitted(&store.limiter, &Charge::auth(LOGIN, &other), &other, 1).await, 1);
    assert_eq!(admitted(&store.limiter, &Charge::auth("/api/auth/register", &client), &client, 1).await, 1);
    let link = Charge::auth_email(MailScope::MagicLink, mail);
    assert_eq!(admitted(&store.limiter, &link, &client, 11).await, 10);
    let reset = Charge::auth_email(MailScope::PasswordReset, mail);
    assert_eq!(admitted(&store.limiter, &reset, &client, 1).await, 1);
}

async fn a_refusal_is_logged_once_per_key_and_window(mut store: Store) {
    let (log, _listening) = Log::listen();
    let client = somebody();
    let charge = Charge::auth(LOGIN, &client);
    let attempt = Attempt::new(Uuid::new_v4(), client);
    for _ in 0..2 {
        assert_eq!(admitted(&store.limiter, &charge, &client, 30).await, 30);
        store.limiter.decide(std::slice::from_ref(&charge), &client, LOGIN, &attempt).await;
        assert_eq!(admitted(&store.limiter, &charge, &client, 20).await, 0);
        store.pass_window(&charge).await;
        tokio::time::sleep(store.settling()).await;
    }
    let lines = log.lines_with("Auth rate limit exceeded");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let expected = format!(
        "Auth rate limit exceeded bucket=\"auth\" network=\"{}\" route=\"{LOGIN}\" wait=60 request_id={}",
        client.network(),
        attempt.request_id()
    );
    assert!(lines[0].contains("WARN") && lines[0].ends_with(&expected), "{}", lines[0]);
}

async fn a_mailbox_is_logged_as_its_fingerprint_and_at_sign_up_not_at_all(store: Store) {
    let (log, _listening) = Log::listen();
    let (client, mail) = (somebody(), mailbox());
    let fingerprint = labs_auth::secret::fingerprint(mail);
    admitted(&store.limiter, &Charge::auth_email(MailScope::MagicLink, mail), &client, 11).await;
    admitted(&store.limiter, &Charge::signup_email(mail), &client, 4).await;
    assert_eq!(log.lines_with(mail), Vec::<String>::new());
    assert_eq!(log.lines_with(&fingerprint).len(), 1);
    assert_eq!(log.lines_with("Signup rate limit exceeded").len(), 1);
}
