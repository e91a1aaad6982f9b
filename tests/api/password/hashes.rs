//! Hashes from elsewhere: which are known, which cost too much, and what a password must be to fit.
//!
//! Every hash below was made by its own library from fixed salts: argon2-cffi 25.1 (`low_level.hash_secret`), bcrypt 5.0
//! (`hashpw`), passlib 1.7.4 (`scrypt.using(salt=…)`, `pbkdf2_sha256.using(salt=…)`), Django 5.2.19 (`encode` of its
//! hashers) and Python's hashlib (`pbkdf2_hmac`).

use labs_auth::{
    password::hashing::{Candidate, Check, Hashing, Stored, Unusable},
    secret::Entropy,
};

/// In NFC.
pub(crate) const GREETING: &str = "Gr\u{fc}ezi-W\u{e4}lt-2026";

/// The same in NFD.
pub(crate) const GREETING_APART: &str = "Gru\u{308}ezi-Wa\u{308}lt-2026";

/// bcrypt of [`GREETING_APART`], byte for byte.
pub(crate) const BCRYPT_APART: &str = "$2b$05$abcdefghijklmnopqrstuuhiBNTiHnoUwvzqDRlcG.qOSmagh1itW";

/// bcrypt of 72 times `a`.
pub(crate) const BCRYPT_72: &str = "$2b$05$abcdefghijklmnopqrstuuGUnCqbfgs3htOkLrFduUjAyLBw1Rq/u";

/// Hashes of [`GREETING`], each with its function.
pub(crate) const KNOWN: [(&str, &str); 14] = [
    ("argon2id", "$argon2id$v=19$m=8192,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$zmwFJi1V0N0Nl9O9hykxvsUlYdfW2YHdjPoEw6geFV0"),
    ("argon2i", "$argon2i$v=19$m=8192,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$HFB7GCtxoaBMnxFRptE34PpwcE3/jqNxMSZAesBP0C8"),
    ("argon2d", "$argon2d$v=19$m=8192,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$g6WAMb5M9acBacQWzlKE26oA6vNNfo18YHBAOEn+DBk"),
    // The first version of the function, with and without saying so.
    ("argon2i", "$argon2i$v=16$m=8192,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$8fFME4KJEzct/PjntjaLsYvM6tKDFogvP9ms36nmZ5w"),
    ("argon2i", "$argon2i$m=8192,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$8fFME4KJEzct/PjntjaLsYvM6tKDFogvP9ms36nmZ5w"),
    ("bcrypt", "$2b$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"),
    ("bcrypt", "$2a$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"),
    ("bcrypt", "$2y$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"),
    ("scrypt", "$scrypt$ln=10,r=8,p=2$MDEyMzQ1Njc4OWFiY2RlZg$9Nqtxl2k2+70wZ4orKoEfMOh+AZAVDA7S4aen2nH+Ls"),
    (
        "scrypt",
        "scrypt$1024$saltSALT123$8$2$2GydXM8BMBJaclOEquHWuBBXcSdQgsOAgEEBQ/USNyKw5U19akCRDgksMohGnRl+wZjkszMnFJNGH0ILUf9syw==",
    ),
    ("pbkdf2-sha256", "$pbkdf2-sha256$1234$//79....MDEyMzQ1Njc4OQ$z14kKYXLGdp4jCJj3C.P0X16gwTdH/GfaogWJezGkAc"),
    ("pbkdf2-sha256", "pbkdf2_sha256$2000$saltSALT123$QFLLBeYcN6gWGB4S0nJ/fjsAMrqBImlUHVDnLDtW4g4="),
    (
        "argon2id",
        "argon2$argon2id$v=19$m=8192,t=2,p=8$MDEyMzQ1Njc4OWFiY2RlZg$R3UzqXdBA3Y8smCAMlde2vfC0UXF5/+tCsPVPrBqY30",
    ),
    ("bcrypt", "bcrypt_sha256$$2b$05$abcdefghijklmnopqrstuud6iiwTFXLfqmLqNd0b3cM.FLTlzIDs."),
];

fn hashing() -> Hashing {
    Hashing::new(2, Entropy::system()).unwrap()
}

#[tokio::test]
async fn what_other_libraries_made_fits_its_password_and_no_other() {
    let hashing = hashing();
    for (name, hash) in KNOWN {
        assert_eq!(Stored::parse(hash).unwrap().name(), name, "{hash}");
        let right = hashing.check(GREETING, Some(hash)).await.unwrap();
        assert_eq!(right, Check::Right { outdated: true }, "{hash}");
        for wrong in ["Gruezi-Walt-2026", "", "Gr\u{fc}ezi-W\u{e4}lt-202", GREETING_APART] {
            assert_eq!(hashing.check(wrong, Some(hash)).await.unwrap(), Check::Wrong, "{hash}");
        }
    }
}

#[tokio::test]
async fn our_own_hash_is_current_and_weaker_ones_of_the_same_kind_are_not() {
    let hashing = hashing();
    let own = hashing.hash(GREETING).await.unwrap();
    assert!(own.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{own}");
    assert_eq!(hashing.check(GREETING, Some(&own)).await.unwrap(), Check::Right { outdated: false });
    // What was typed in another form counts for hashes from elsewhere alone.
    let apart = Candidate::new(GREETING, GREETING_APART);
    assert_eq!(hashing.check(apart, Some(&own)).await.unwrap(), Check::Right { outdated: false });
    assert_eq!(hashing.check(apart, Some(BCRYPT_APART)).await.unwrap(), Check::Right { outdated: true });
    assert_eq!(hashing.check(GREETING, Some(BCRYPT_APART)).await.unwrap(), Check::Wrong);
    let own = hashing.hash(GREETING_APART).await.unwrap();
    assert_eq!(hashing.check(apart, Some(&own)).await.unwrap(), Check::Wrong);
}

#[tokio::test]
async fn bcrypt_proves_72_bytes_and_what_follows_is_not_pinned() {
    let hashing = hashing();
    let all = "a".repeat(72);
    assert_eq!(hashing.check(all.as_str(), Some(BCRYPT_72)).await.unwrap(), Check::Right { outdated: true });
    let longer = format!("{all}-and a tail that nobody ever proved");
    assert_eq!(hashing.check(longer.as_str(), Some(BCRYPT_72)).await.unwrap(), Check::Right { outdated: false });
    assert_eq!(hashing.check(&all[..71], Some(BCRYPT_72)).await.unwrap(), Check::Wrong);
}

#[test]
fn a_hash_that_costs_more_than_a_check_may_is_refused() {
    let tag = "MDEyMzQ1Njc4OWFiY2RlZg";
    let salt = "MDEyMzQ1Njc4OWFiY2RlZg";
    let bcrypt = "abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW";
    let bearable = [
        format!("$argon2id$v=19$m=262144,t=4,p=4${salt}${tag}"),
        format!("$argon2id$v=19$m=102400,t=2,p=8${salt}${tag}"),
        format!("$2b$14${bcrypt}"),
        format!("$scrypt$ln=18,r=8,p=1${salt}${tag}"),
        format!("scrypt$16384$salt$8$5${tag}"),
        format!("$pbkdf2-sha256$4000000${salt}${tag}"),
    ];
    for hash in bearable {
        assert!(Stored::parse(&hash).is_ok(), "{hash}");
    }
    let dear = [
        format!("$argon2id$v=19$m=262145,t=1,p=1${salt}${tag}"),
        format!("$argon2id$v=19$m=262144,t=5,p=1${salt}${tag}"),
        format!("$argon2id$v=19$m=4294967295,t=4294967295,p=1${salt}${tag}"),
        format!("$argon2id$v=19$m=1024,t=2,p=65${salt}${tag}"),
        format!("$2b$15${bcrypt}"),
        format!("$2y$31${bcrypt}"),
        format!("$scrypt$ln=19,r=8,p=1${salt}${tag}"),
        format!("$scrypt$ln=63,r=4294967295,p=1${salt}${tag}"),
        format!("$scrypt$ln=10,r=8,p=1000${salt}${tag}"),
        format!("scrypt$1048576$salt$8$1${tag}"),
        format!("$pbkdf2-sha256$4000001${salt}${tag}"),
        format!("pbkdf2_sha256$99999999999999999999$salt${tag}"),
    ];
    for hash in dear {
        assert!(matches!(Stored::parse(&hash), Err(Unusable::TooCostly(_))), "{hash}");
    }
}

#[test]
fn what_is_no_hash_or_not_well_made_is_refused_and_not_repeated() {
    let tag = "MDEyMzQ1Njc4OWFiY2RlZg";
    let bad = [
        String::new(),
        String::from("correct horse battery staple"),
        String::from("$"),
        String::from("5f4dcc3b5aa765d61d8327deb882cf99"),
        String::from("$1$salt$hash"),
        String::from("$6$rounds=5000$salt$hash"),
        // The form whose bug lets several passwords fit.
        String::from("$2x$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"),
        String::from("$2b$03$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"),
        String::from("$2b$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxV"),
        String::from("bcrypt$"),
        format!("$argon2id$v=19$m=8192,t=2,p=1${tag}"),
        format!("$argon2id$v=18$m=8192,t=2,p=1${tag}${tag}"),
        format!("$argon2id$v=19$m=8192,t=2,p=1,keyid=YWJj${tag}${tag}"),
        format!("$argon2id$v=19$m=8192,t=0,p=1${tag}${tag}"),
        // A short result fits too many passwords.
        format!("$argon2id$v=19$m=8192,t=2,p=1${tag}$MDEyMzQ1Njc4OWE"),
        format!("$pbkdf2-sha256$1000${tag}$MDEy"),
        format!("$pbkdf2-sha256$0${tag}${tag}"),
        format!("$pbkdf2-sha256$-1${tag}${tag}"),
        format!("$pbkdf2-sha256$1000${tag}"),
        format!("$pbkdf2-sha256$1000${tag}${tag}${tag}"),
        format!("$scrypt$ln=10,r=8${tag}${tag}"),
        format!("$scrypt$ln=0,r=8,p=1${tag}${tag}"),
        format!("scrypt$1000$salt$8$1${tag}"),
        format!("scrypt$0$salt$8$1${tag}"),
        format!("$pbkdf2-sha512$1000${tag}${tag}"),
        format!("$pbkdf2-sha256$1000${tag}$") + &"A".repeat(600),
        String::from("$2b$05$\u{e4}\u{f6}\u{fc}"),
    ];
    for hash in bad {
        let refusal = Stored::parse(&hash).unwrap_err();
        assert!(matches!(refusal, Unusable::Unknown | Unusable::Malformed(_)), "{hash}: {refusal}");
        assert!(hash.len() < 8 || !refusal.to_string().contains(&hash));
    }
}

#[tokio::test]
async fn a_stored_hash_that_cannot_be_used_lets_nobody_in_and_breaks_nothing() {
    let hashing = hashing();
    for hash in ["plain", "", "$2b$31$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"] {
        assert_eq!(hashing.check("plain", Some(hash)).await.unwrap(), Check::Wrong);
    }
    // Somebody else's hash lends its cost and nothing more.
    let (_, neighbour) = KNOWN[5];
    assert_eq!(hashing.check_beside(GREETING, None, Some(neighbour)).await.unwrap(), Check::Wrong);
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_that_use_each_others_memory_come_out_right() {
    let hashing = Hashing::new(2, Entropy::system()).unwrap();
    let own = hashing.hash(GREETING).await.unwrap();
    let stored = KNOWN.into_iter().map(|(_, hash)| hash.to_owned()).chain([own]);
    // Many at once, so that each finds what another one left behind.
    let checks = stored.cycle().take(60).enumerate().map(|(number, hash)| {
        let hashing = hashing.clone();
        tokio::spawn(async move {
            let right = number % 3 > 0;
            let password = if right { GREETING } else { "another password" };
            let check = hashing.check(password, Some(&hash)).await.unwrap();
            assert_eq!(check != Check::Wrong, right, "{hash}");
            hashing.hash(GREETING).await.unwrap()
        })
    });
    for fresh in checks.collect::<Vec<_>>() {
        let fresh = fresh.await.unwrap();
        assert_eq!(hashing.check(GREETING, Some(&fresh)).await.unwrap(), Check::Right { outdated: false });
    }
    // Nobody waits any more, and none of it is kept.
    assert!(format!("{hashing:?}").contains("Memories(0)"), "{hashing:?}");
}
