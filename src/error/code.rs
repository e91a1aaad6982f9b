//! The closed list of codes: wire name, status and default sentence are arms of one enum.
//! No code is ever written as a string anywhere else.

use http::StatusCode;

macro_rules! catalogue {
    ($($variant:ident = $wire:literal, $status:ident, $sentence:literal;)*) => {
        /// A code of the catalogue: what clients switch on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $(#[doc = $sentence] $variant,)* }

        impl ErrorCode {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the wire.
            pub const fn wire(self) -> &'static str {
                match self { $(Self::$variant => $wire,)* }
            }

            /// The status it travels with.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// The sentence for people, when the place that refuses has no better one.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

catalogue! {
    WrongCredentials = "AUTH_001", UNAUTHORIZED, "Invalid email or password.";
    NotAuthenticated = "AUTH_002", UNAUTHORIZED, "Not authenticated.";
    AccessTokenExpired = "AUTH_003", UNAUTHORIZED, "The access token has expired.";
    AccessTokenInvalid = "AUTH_004", UNAUTHORIZED, "The access token is invalid.";
    SessionExpired = "AUTH_005", UNAUTHORIZED, "Your session has expired. Please sign in again.";
    LinkInvalid = "AUTH_006", BAD_REQUEST, "The link is invalid or has expired.";
    EmailUnconfirmed = "AUTH_007", FORBIDDEN, "Please confirm your email address first.";
    AccountDisabled = "AUTH_008", FORBIDDEN, "This account is disabled.";
    WrongPassword = "AUTH_009", BAD_REQUEST, "The current password is incorrect.";
    NoPassword = "AUTH_010", BAD_REQUEST, "No password is set for this account.";
    RegistrationClosed = "AUTH_011", FORBIDDEN, "Registration is closed.";
    SignInExpired = "AUTH_013", BAD_REQUEST, "The sign-in request has expired.";
    SignInIncomplete = "AUTH_014", BAD_REQUEST, "Sign-in with Infomaniak was not completed.";
    ForeignPage = "AUTH_015", FORBIDDEN, "The request did not come from an allowed page.";
    Invalid = "VAL_001", UNPROCESSABLE_ENTITY, "Request validation failed.";
    WeakPassword = "VAL_002", UNPROCESSABLE_ENTITY, "The password does not meet the policy.";
    BodyTooLarge = "VAL_003", PAYLOAD_TOO_LARGE, "The request body is too large.";
    BodyCompressed = "VAL_004", UNSUPPORTED_MEDIA_TYPE, "Compressed request bodies are not accepted.";
    BodyTooSlow = "VAL_005", REQUEST_TIMEOUT, "The request was not received in time.";
    HostUnknown = "VAL_006", BAD_REQUEST, "This host is not served here.";
    NotFound = "RES_001", NOT_FOUND, "Not found.";
    Exists = "RES_002", CONFLICT, "The resource already exists.";
    MethodNotAllowed = "RES_003", METHOD_NOT_ALLOWED, "Method not allowed.";
    RateLimited = "RATE_001", TOO_MANY_REQUESTS, "Too many requests. Please slow down.";
    ProviderUnreachable = "EXT_001", BAD_GATEWAY, "The identity provider is not reachable.";
    ProviderUnconfigured = "EXT_002", SERVICE_UNAVAILABLE, "Sign-in with Infomaniak is not configured.";
    PasskeyExpired = "WEBAUTHN_001", BAD_REQUEST, "The passkey request has expired. Please try again.";
    PasskeyRefused = "WEBAUTHN_002", UNAUTHORIZED, "Passkey sign-in failed.";
    PasskeysElsewhere = "WEBAUTHN_003", FORBIDDEN, "Passkeys are not available on this site.";
    PasskeyKnown = "WEBAUTHN_004", CONFLICT, "This passkey is already registered.";
    PasskeysFull = "WEBAUTHN_005", CONFLICT, "The maximum number of passkeys is reached.";
    PasskeyUnusable = "WEBAUTHN_006", BAD_REQUEST, "The passkey could not be registered.";
    SignupClosed = "SIGNUP_001", FORBIDDEN, "Signup is by invitation only.";
    Internal = "SYS_001", INTERNAL_SERVER_ERROR, "An internal error occurred.";
    Unavailable = "SYS_002", SERVICE_UNAVAILABLE, "The service is temporarily unavailable.";
}
