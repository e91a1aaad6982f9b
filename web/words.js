// Every sentence of the screens, in German and English.

const german = {
  login: "Anmelden", register: "Konto erstellen", forgot: "Passwort vergessen", reset: "Neues Passwort",
  set: "Passwort festlegen", verify: "E-Mail-Adresse bestätigen", signedIn: "Angemeldet", logout: "Abmelden",
  email: "E-Mail-Adresse", password: "Passwort", newPassword: "Neues Passwort", name: "Name (freiwillig)",
  passwordHint: "Mindestens 8 Zeichen. Ein ganzer Satz ist gut.",
  confirm: "Bestätigen", send: "Link senden", save: "Speichern",
  verifyIntro: "Ein Klick noch, dann gehört diese Adresse zu Ihrem Konto.",
  checkInbox: "Bitte sehen Sie in Ihr Postfach: Wir haben Ihnen einen Link geschickt.",
  maybeSent: "Falls es zu dieser Adresse ein Konto gibt, ist ein Link unterwegs.",
  verified: "Ihre Adresse ist bestätigt. Sie können sich jetzt anmelden.",
  changed: "Ihr Passwort ist geändert. Sie können sich jetzt anmelden.",
  noToken: "Diesem Link fehlt etwas. Bitte öffnen Sie ihn noch einmal aus der E-Mail.",
  hello: (user) => `Sie sind angemeldet als ${user.email}.`,
  wait: (seconds) => `Zu viele Versuche. In ${seconds} Sekunden geht es weiter.`,
  codes: {
    AUTH_001: "E-Mail-Adresse oder Passwort stimmt nicht.",
    AUTH_006: "Dieser Link gilt nicht mehr. Bitte fordern Sie einen neuen an.",
    AUTH_007: "Bitte bestätigen Sie zuerst Ihre E-Mail-Adresse.",
    AUTH_008: "Dieses Konto ist gesperrt.",
    AUTH_011: "Neue Konten sind zurzeit nicht möglich.",
    VAL_001: "Bitte prüfen Sie Ihre Angaben.",
    VAL_002: "Dieses Passwort ist zu leicht zu erraten.",
    SYS_002: "Der Dienst ist gerade nicht erreichbar. Bitte versuchen Sie es gleich noch einmal.",
  },
  unknown: "Das hat nicht geklappt. Bitte versuchen Sie es noch einmal.",
};

const english = {
  login: "Sign in", register: "Create an account", forgot: "Forgot your password?", reset: "New password",
  set: "Choose a password", verify: "Confirm your email address", signedIn: "Signed in", logout: "Sign out",
  email: "Email address", password: "Password", newPassword: "New password", name: "Name (optional)",
  passwordHint: "At least 8 characters. A whole sentence is good.",
  confirm: "Confirm", send: "Send the link", save: "Save",
  verifyIntro: "One click, and this address belongs to your account.",
  checkInbox: "Please look into your inbox: we have sent you a link.",
  maybeSent: "If this address has an account, a link is on its way.",
  verified: "Your address is confirmed. You can now sign in.",
  changed: "Your password is changed. You can now sign in.",
  noToken: "Something is missing from this link. Please open it from the email once more.",
  hello: (user) => `You are signed in as ${user.email}.`,
  wait: (seconds) => `Too many attempts. You can go on in ${seconds} seconds.`,
  codes: {
    AUTH_001: "The email address or the password is wrong.",
    AUTH_006: "This link is no longer valid. Please ask for a new one.",
    AUTH_007: "Please confirm your email address first.",
    AUTH_008: "This account is disabled.",
    AUTH_011: "New accounts are not possible at the moment.",
    VAL_001: "Please check what you typed.",
    VAL_002: "This password is too easy to guess.",
    SYS_002: "The service cannot be reached at the moment. Please try again shortly.",
  },
  unknown: "That did not work. Please try again.",
};

export const language = navigator.language?.toLowerCase().startsWith("de") ? "de" : "en";
export const words = language === "de" ? german : english;
