//! The hand-off to the command line: the page, its form, and what the client gets for its code.

mod client;

use std::{collections::HashMap, time::Duration};

use serde_json::json;
use url::{Url, form_urlencoded};

use crate::{
    password::{at_once, count},
    world::{Ask, PAGE, Reply, SignedIn, Verbs, World},
};

const PATH: &str = "/api/auth/cli-login";
const STATE: &str = "a-state-of-the-client";
const VERIFIER: &str = "a-verifier-of-more-than-forty-three-characters";

fn challenge() -> String {
    labs_auth::secret::Plain::presented(VERIFIER.to_owned()).pkce_challenge()
}

fn fields() -> Vec<(&'static str, String)> {
    vec![
        ("port", String::from("4321")),
        ("state", STATE.to_owned()),
        ("code_challenge", challenge()),
        ("name", String::from("Annas <b>Laptop</b>")),
    ]
}

fn encoded(fields: &[(&str, String)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Looks at the page in a browser with this cookie.
fn look(world: &World, refresh: &str, fields: &[(&str, String)]) -> Ask {
    let ask = world.anonymous().get(&format!("{PATH}?{}", encoded(fields)));
    ask.header("cookie", format!("theme=dark; labs_refresh={refresh}"))
}

/// The fields of the page's form.
fn form_of(page: &Reply) -> HashMap<String, String> {
    let html = String::from_utf8(page.body.clone()).unwrap();
    let inputs = html.lines().filter_map(|line| line.strip_prefix("<input type=\"hidden\" name=\""));
    let pair = |input: &str| {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        let value = rest.strip_suffix("\">").unwrap();
        (name.to_owned(), value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    };
    inputs.map(pair).collect()
}

fn press(world: &World, refresh: &str, form: &HashMap<String, String>, decision: &str) -> Ask {
    let mut pairs: Vec<(&str, String)> = form.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    pairs.push(("decision", decision.to_owned()));
    let ask = world.anonymous().raw(PATH, Some("application/x-www-form-urlencoded"), encoded(&pairs));
    ask.header("cookie", format!("labs_refresh={refresh}")).origin("https://auth.labs.example")
}

/// The answer on the loopback interface.
#[track_caller]
fn called_back(reply: &Reply) -> HashMap<String, String> {
    reply.is(303);
    let url = Url::parse(reply.header("location").unwrap()).unwrap();
    assert!(url.as_str().starts_with("http://127.0.0.1:4321/callback?"), "{url}");
    let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(query["state"], STATE);
    query
}

/// A code that the person has allowed.
async fn allowed(world: &World, anna: &SignedIn) -> String {
    let page = look(world, &anna.refresh, &fields()).await;
    let reply = press(world, &anna.refresh, &form_of(page.is(200)), "allow").await;
    called_back(&reply)["code"].clone()
}

#[tokio::test]
async fn a_person_who_allows_it_signs_the_client_in() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let code = allowed(&world, &anna).await;
    let reply = world.redeem(json!({"token": code, "code_verifier": VERIFIER})).await;
    let client = world.holder_of(reply.is(200));
    assert_eq!(client.email, anna.email);
    assert_eq!(world.db_open_sessions_of(&anna.email).await, 2, "a session of its own");
    client.post("/api/auth/logout", json!({})).await.is(200);
    assert!(anna.is_signed_in().await && !client.is_signed_in().await);
    world.redeem(json!({"token": code, "code_verifier": VERIFIER})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn the_list_of_sessions_and_the_mail_name_the_machine_and_its_program() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for (name, label) in [("Annas <b>Laptop</b>", json!("Annas <b>Laptop</b>")), (" ", json!(null))] {
        let mut asked = fields();
        asked.retain(|(kept, _)| *kept != "name");
        asked.push(("name", name.to_owned()));
        let page = look(&world, &anna.refresh, &asked).await;
        let code = called_back(&press(&world, &anna.refresh, &form_of(&page), "allow").await)["code"].clone();
        let redeem = world.redeem(json!({"token": code, "code_verifier": VERIFIER}));
        let client = world.holder_of(redeem.header("user-agent", "labs-auth-cli/0.1.0").await.is(200));
        let sessions = client.get("/api/auth/sessions").await.is(200).json();
        assert_eq!(sessions["sessions"][0]["label"], label);
        assert_eq!(sessions["sessions"][0]["user_agent"], "The labs-auth command line");
        assert_eq!(sessions["sessions"][0]["signed_in_by"], "cli");
        let exported = client.get("/api/auth/me/export").await.is(200).json();
        let own = exported["sessions"].as_array().unwrap().iter().filter(|it| it["signed_in_by"] == "cli");
        assert!(own.clone().any(|it| it["label"] == label), "{exported}");
    }
    let mails = world.mails_to(&anna.email).await;
    // Mails break what could be taken for a web address by signs that nobody sees.
    let texts: Vec<String> = mails.iter().map(|mail| mail.text.replace('\u{200b}', "")).collect();
    for said in ["The labs-auth command line (Annas <b>Laptop</b>), ", "The labs-auth command line, "] {
        assert_eq!(texts.iter().filter(|text| text.contains(said)).count(), 1, "{texts:?}");
    }
    assert!(mails.iter().all(|mail| !mail.html.contains("<b>Laptop")), "{mails:?}");
}

#[tokio::test]
async fn a_mail_makes_no_link_of_what_a_machine_calls_itself() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let mut asked = fields();
    asked.retain(|(kept, _)| *kept != "name");
    asked.push(("name", String::from("https://evil.example/now")));
    let page = look(&world, &anna.refresh, &asked).await;
    let code = called_back(&press(&world, &anna.refresh, &form_of(&page), "allow").await)["code"].clone();
    world.redeem(json!({"token": code, "code_verifier": VERIFIER})).await.is(200);
    let mail = world.mails_to(&anna.email).await.pop().unwrap();
    assert!(mail.text.contains("now)") && !mail.text.contains("evil.example"), "{}", mail.text);
    assert!(!mail.html.contains("evil.example"), "{}", mail.html);
}

#[tokio::test]
async fn the_page_names_what_is_asked_and_spends_no_token() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let page = look(&world, &anna.refresh, &fields()).await;
    let html = String::from_utf8(page.is(200).body.clone()).unwrap();
    assert!(html.contains(&anna.email) && html.contains("127.0.0.1:4321"), "{html}");
    assert!(html.contains("Annas &lt;b&gt;Laptop&lt;/b&gt;") && !html.contains("<b>"), "{html}");
    let policy = page.header("content-security-policy").unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(html.contains(&format!("<style nonce=\"{nonce}\">")) && !html.contains("<script"));
    assert!(policy.contains("form-action 'self' http://127.0.0.1:4321;") && policy.contains("frame-ancestors 'none'"));
    assert!(!html.contains(&anna.refresh));
    let other = look(&world, &anna.refresh, &fields()).await;
    assert_ne!(other.header("content-security-policy"), Some(policy), "a nonce is used once");
    anna.refresh_with(&anna.refresh).await.is(200);
}

#[tokio::test]
async fn a_used_cookie_is_recognised_as_long_as_refresh_would_take_it() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let next = anna.refresh_with(&anna.refresh).await.is(200).field("refresh_token");
    world.advance(Duration::from_secs(10));
    look(&world, &anna.refresh, &fields()).await.is(200);
    look(&world, &next, &fields()).await.is(200);
    world.advance(Duration::from_micros(1));
    look(&world, &anna.refresh, &fields()).await.is(302);
    look(&world, &next, &fields()).await.is(200);
}

#[tokio::test]
async fn whoever_is_not_signed_in_signs_in_first_and_comes_back() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    anna.post("/api/auth/logout", json!({})).await.is(200);
    for ask in [
        look(&world, &anna.refresh, &fields()),
        look(&world, "x", &fields()),
        look(&world, &anna.access, &fields()),
        world.anonymous().get(&format!("{PATH}?{}", encoded(&fields()))),
    ] {
        let reply = ask.await;
        let location = Url::parse(reply.is(302).header("location").unwrap()).unwrap();
        assert_eq!(location.as_str().split('?').next(), Some("https://labs.example/login"));
        let (name, next) = location.query_pairs().next().unwrap();
        assert_eq!((name.as_ref(), location.query_pairs().count()), ("next", 1));
        let next = Url::parse("https://auth.labs.example").unwrap().join(&next).unwrap();
        assert_eq!((next.host_str(), next.path()), (Some("auth.labs.example"), PATH));
        let kept: HashMap<_, _> = next.query_pairs().into_owned().collect();
        assert!(fields().iter().all(|(name, value)| kept[*name] == *value), "{kept:?}");
    }
    let disabled = world.signed_in().await;
    world.db_disable(&disabled.email).await;
    look(&world, &disabled.refresh, &fields()).await.is(302);
}

#[tokio::test]
async fn no_callback_of_the_request_reaches_a_location() {
    // case 251
    let world = World::new().await;
    let anna = world.signed_in().await;
    for evil in ["http://localhost.evil.example:1/", "http://localhost@evil.example/", "http://127.0.0.1.evil.example/"]
    {
        let mut asked = fields();
        asked.extend(["callback", "redirect_uri", "host"].map(|name| (name, evil.to_owned())));
        let anonymous = world.anonymous().get(&format!("{PATH}?{}", encoded(&asked))).await;
        assert!(!anonymous.is(302).header("location").unwrap().contains("evil"), "{anonymous:?}");
        let page = look(&world, &anna.refresh, &asked).await;
        assert!(!String::from_utf8_lossy(&page.is(200).body).contains("evil"));
        let mut form = form_of(&page);
        form.insert(String::from("callback"), evil.to_owned());
        called_back(&press(&world, &anna.refresh, &form, "allow").await);
        let only: Vec<_> = asked.into_iter().filter(|(name, _)| *name != "port").collect();
        look(&world, &anna.refresh, &only).await.has_fault("missing", "query.port");
    }
}

#[tokio::test]
async fn a_query_is_checked_field_by_field_and_charged() {
    let world = World::new().await;
    let anybody = world.anonymous();
    let with = |name: &'static str, value: &str| {
        let mut changed = fields();
        changed.retain(|(kept, _)| *kept != name);
        changed.push((name, value.to_owned()));
        anybody.get(&format!("{PATH}?{}", encoded(&changed)))
    };
    for (name, value, fault) in [
        ("port", "1023", "greater_than_equal"),
        ("port", "65536", "less_than_equal"),
        ("port", "99999999999999999999", "less_than_equal"),
        ("port", "80@evil.example", "int_parsing"),
        ("port", "+4321", "int_parsing"),
        ("port", "", "int_parsing"),
        ("state", "short", "string_too_short"),
        ("state", "a state with blanks in it", "string_pattern_mismatch"),
        ("state", "state-state-state\r\nx: y", "string_pattern_mismatch"),
        ("code_challenge", "short", "string_too_short"),
        ("code_challenge", "=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "string_pattern_mismatch"),
        ("code_challenge_method", "plain", "enum"),
        ("name", "a\u{7}b", "value_error"),
        ("name", "laptop\u{202e}moc", "value_error"),
        ("name", "lap\u{200b}top", "value_error"),
    ] {
        with(name, value).await.has_fault(fault, &format!("query.{name}"));
    }
    with("name", &"a".repeat(65)).await.has_fault("string_too_long", "query.name");
    let bare = anybody.get(PATH).await;
    assert_eq!(bare.faults().len(), 3, "{bare:?}");
    assert_eq!(bare.remaining(), 13);
    for _ in 0..13 {
        anybody.get(PATH).await.is(422);
    }
    anybody.get(PATH).await.is_rate_limited();
}

#[tokio::test]
async fn a_form_that_is_not_this_pages_own_is_refused() {
    let world = World::new().await;
    let (anna, beat) = (world.signed_in().await, world.signed_in().await);
    let page = look(&world, &anna.refresh, &fields()).await;
    let form = form_of(page.is(200));
    let changed = |name: &str, value: &str| {
        let mut form = form.clone();
        form.insert(name.to_owned(), value.to_owned());
        form
    };
    let forged = [
        changed("port", "4322"),
        changed("state", "another-state-of-a-client"),
        changed("code_challenge", &"A".repeat(43)),
        changed("name", "another"),
        changed("csrf", ""),
        changed("csrf", "9999999999.AAAA"),
        changed("csrf", &form["csrf"].replace("17", "18")),
    ];
    for forged in forged {
        press(&world, &anna.refresh, &forged, "allow").await.is_error(403, "AUTH_015");
    }
    press(&world, &beat.refresh, &form, "allow").await.is_error(403, "AUTH_015");
    for origin in ["https://evil.example", "null", "http://auth.labs.example", "http://127.0.0.1:4321"] {
        press(&world, &anna.refresh, &form, "allow").origin(origin).await.is_error(403, "AUTH_015");
    }
    called_back(&press(&world, &anna.refresh, &form, "allow").origin(PAGE).await);
    called_back(&press(&world, &anna.refresh, &form, "allow").without("origin").await);
    press(&world, "x", &form, "allow").await.is_error(401, "AUTH_005");
    press(&world, &anna.refresh, &form, "allow").without("cookie").await.is_error(401, "AUTH_005");
    press(&world, &anna.refresh, &form, "perhaps").await.has_fault("enum", "body.decision");
    let json = press(&world, &anna.refresh, &form, "allow").only("content-type", "application/json").await;
    json.has_fault("model_attributes_type", "body");
    world.advance(Duration::from_mins(10));
    press(&world, &anna.refresh, &form, "allow").await.is_error(403, "AUTH_015");
}

#[tokio::test]
async fn the_form_is_counted() {
    let world = World::new().await;
    let anybody = world.anonymous();
    for _ in 0..30 {
        anybody.raw(PATH, Some("application/x-www-form-urlencoded"), "").await.is_error(401, "AUTH_005");
    }
    anybody.raw(PATH, Some("application/x-www-form-urlencoded"), "").await.is_rate_limited();
}

#[tokio::test]
async fn a_person_who_denies_it_gives_nothing_away() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let page = look(&world, &anna.refresh, &fields()).await;
    let back = called_back(&press(&world, &anna.refresh, &form_of(&page), "deny").await);
    assert_eq!((back.get("error").map(String::as_str), back.get("code")), (Some("access_denied"), None));
}

#[tokio::test]
async fn a_code_is_worth_nothing_without_its_verifier_and_is_spent_by_a_guess() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for guess in [json!({}), json!({"code_verifier": "a".repeat(43)}), json!({"code_verifier": challenge()})] {
        let code = allowed(&world, &anna).await;
        let mut body = guess;
        body["token"] = json!(code);
        world.redeem(body).await.is_error(400, "AUTH_006");
        world.redeem(json!({"token": code, "code_verifier": VERIFIER})).await.is_error(400, "AUTH_006");
    }
    let late = allowed(&world, &anna).await;
    world.advance(Duration::from_mins(1));
    world.redeem(json!({"token": late, "code_verifier": VERIFIER})).await.is_error(400, "AUTH_006");
    let orphan = allowed(&world, &anna).await;
    anna.post("/api/auth/logout?scope=global", json!({})).await.is(200);
    world.redeem(json!({"token": orphan, "code_verifier": VERIFIER})).await.is_error(400, "AUTH_006");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_redemptions_of_one_code_open_one_session() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let code = allowed(&world, &anna).await;
    let body = json!({"token": code, "code_verifier": VERIFIER});
    let replies = at_once((0..50).map(|_| world.redeem(body.clone()))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_open_sessions_of(&anna.email).await, 2);
}
