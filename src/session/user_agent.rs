//! A user agent in words that its owner recognises, such as `Firefox on Windows`. Everything comes from the tables below:
//! no word of the header, which anybody may write, reaches a page or a mail.

/// Signs of a browser or program. The first that fits counts: most browsers also claim to be the ones further down.
const PROGRAMS: [(&str, &str); 23] = [
    ("labs-auth-cli/", "The labs-auth command line"),
    ("edg/", "Edge"),
    ("edga/", "Edge"),
    ("edgios/", "Edge"),
    ("opr/", "Opera"),
    ("vivaldi/", "Vivaldi"),
    ("samsungbrowser/", "Samsung Internet"),
    ("duckduckgo/", "DuckDuckGo"),
    ("yabrowser/", "Yandex Browser"),
    ("fxios/", "Firefox"),
    ("firefox/", "Firefox"),
    ("crios/", "Chrome"),
    ("headlesschrome/", "Chrome"),
    ("electron/", "A desktop app"),
    ("chromium/", "Chromium"),
    ("chrome/", "Chrome"),
    ("version/", "Safari"),
    ("curl/", "curl"),
    ("wget/", "Wget"),
    ("python", "A Python program"),
    ("okhttp/", "An Android app"),
    ("node", "A Node.js program"),
    ("go-http-client/", "A Go program"),
];

/// Signs of an operating system, the more particular first: an iPhone also claims Mac OS, Android also claims Linux.
const SYSTEMS: [(&str, &str); 8] = [
    ("iphone", "iPhone"),
    ("ipad", "iPad"),
    ("android", "Android"),
    ("windows", "Windows"),
    ("cros ", "ChromeOS"),
    ("mac os x", "macOS"),
    ("macintosh", "macOS"),
    ("linux", "Linux"),
];

/// What a device is called of which nothing is known.
const UNKNOWN: &str = "An unknown device";

/// The words for a user agent.
pub(super) fn in_words(user_agent: Option<&str>) -> String {
    let text = user_agent.unwrap_or_default().to_ascii_lowercase();
    let find =
        |table: &[(&'static str, &'static str)]| table.iter().find(|(sign, _)| text.contains(sign)).map(|it| it.1);
    match (find(&PROGRAMS), find(&SYSTEMS)) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        (Some(program), None) => program.to_owned(),
        (None, Some(system)) => format!("An unknown program on {system}"),
        (None, None) => UNKNOWN.to_owned(),
    }
}
