//! How much a stored hash may cost. An imported hash names its own price, and each check of it is paid by this process:
//! whoever can put one into the database must not be able to buy minutes of a core or gigabytes with every sign-in.
//!
//! The bounds are about a second of one core and 256 MiB. They admit what the usual backends write (the defaults of
//! argon2-cffi, passlib, Django and the OWASP password storage sheet); a hash above them is refused at import.

/// Most memory of one hash in KiB: 256 MiB. With one hash more at once than cores, four cores stay within 1.25 GiB.
pub(super) const MEMORY_MAX_KIB: u64 = 256 * 1024;

/// Most that Argon2 may write in all, in KiB: memory times passes, 1 GiB. RFC 9106's second choice (64 MiB, 3 passes)
/// takes a fifth of it, Django's default (100 MiB, 2 passes) as well.
pub(super) const ARGON2_WORK_MAX_KIB: u64 = 1024 * 1024;

/// Most lanes of Argon2. They cost no more work, only shorter ones.
pub(super) const ARGON2_LANES_MAX: u32 = 64;

/// Highest bcrypt cost: 2^14 rounds, about a second. The usual ones are 10 to 12.
pub(super) const BCRYPT_COST_MAX: u32 = 14;

/// Most work of scrypt, N × r × p: 2^21, twice OWASP's N = 2^17, r = 8, p = 1.
pub(super) const SCRYPT_WORK_MAX: u64 = 1 << 21;

/// Most rounds of PBKDF2-HMAC-SHA-256. OWASP asks for 600,000, Django 5.2 makes 1,000,000.
pub(super) const PBKDF2_ROUNDS_MAX: u32 = 4_000_000;

/// Fewest bytes of a hash's result: below, another password fits by chance.
pub(super) const TAG_MIN: usize = 16;

/// Most bytes of a hash's result.
pub(super) const TAG_MAX: usize = 64;

/// Most bytes of a salt.
pub(super) const SALT_MAX: usize = 64;

/// Most bytes of a stored hash as text.
pub(super) const TEXT_MAX: usize = 512;
