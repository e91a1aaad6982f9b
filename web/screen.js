// The hosted screens: one document, and the address decides which form it shows. Tokens of a session stay in memory.

import { act, post, read, Refusal } from "./api.js";
import { language, words } from "./words.js";

const query = new URLSearchParams(location.search);
const token = query.get("token");
const next = ownPath(query.get("next"));

const fields = {
  email: { name: "email", type: "email", label: words.email, autocomplete: "username", required: true },
  password: { name: "password", type: "password", label: words.password, autocomplete: "current-password", required: true },
  newPassword: { name: "password", type: "password", label: words.newPassword, autocomplete: "new-password", required: true, minLength: 8, hint: words.passwordHint },
  name: { name: "full_name", type: "text", label: words.name, autocomplete: "name" },
  code: { name: "code", type: "text", label: words.code, autocomplete: "one-time-code", required: true, hint: words.codeHint },
};

// Link and code of one mail are one ticket. The handle stays in this page: whoever has it is whoever asked.
const askForLink = {
  title: words.byMail, button: words.send, fields: [fields.email], links: ["/login"],
  submit: async ({ email }) => {
    const { handle } = await post("/api/auth/request-magic-link", { email, redirect_to: next });
    show({
      title: words.byMail, intro: words.linkOrCode, button: words.login, fields: [fields.code], links: ["/login"],
      codes: { AUTH_006: words.badCode },
      submit: async ({ code }) => welcome(await post("/api/auth/verify-magic-link", { handle, code })),
    });
  },
};

const redeemLink = {
  title: words.login, button: words.login, fields: [], links: ["/login"],
  submit: async () => welcome(await post("/api/auth/verify-magic-link", { token })),
};

const screens = {
  "/login": {
    title: words.login, button: words.login, fields: [fields.email, fields.password], links: ["/magic-link", "/register", "/forgot-password"],
    submit: async (values) => welcome(await post("/api/auth/login", values)),
  },
  "/register": {
    title: words.register, button: words.register, fields: [fields.name, fields.email, fields.newPassword], links: ["/login"],
    submit: async (values) => {
      const { full_name, ...rest } = values;
      await post("/api/auth/register", full_name ? { ...rest, full_name, locale: language } : { ...rest, locale: language });
      return words.checkInbox;
    },
  },
  "/forgot-password": {
    title: words.forgot, button: words.send, fields: [fields.email], links: ["/login"],
    submit: async (values) => (await post("/api/auth/forgot-password", values), words.maybeSent),
  },
  "/verify-email": {
    // A button, not a redemption on load: mail scanners open links.
    title: words.verify, intro: words.verifyIntro, button: words.confirm, fields: [], links: ["/login"], token: true,
    submit: async () => (await post("/api/auth/verify-email", { token }), words.verified),
  },
  "/reset-password": {
    title: words.reset, button: words.save, fields: [fields.newPassword], links: ["/login"], token: true,
    submit: async (values) => (await post("/api/auth/reset-password", { token, new_password: values.password }), words.changed),
  },
  "/magic-link": token ? redeemLink : askForLink,
  "/set-password": {
    title: words.set, button: words.save, fields: [fields.newPassword], links: ["/login"], token: true,
    submit: async (values) => welcome(await post("/api/auth/set-password", { token, ...values })),
  },
  "/confirm-email": {
    title: words.verify, intro: words.verifyIntro, button: words.confirm, fields: [], links: ["/login"], token: true,
    submit: async () => (await post("/api/auth/confirm-email", { token }), words.moved),
  },
  "/undo-email": {
    title: words.undo, intro: words.undoIntro, button: words.undoButton, fields: [], links: ["/login"], token: true,
    submit: async () => (await post("/api/auth/undo-email", { token }), words.undone),
  },
  "/developers/verify": {
    title: words.verify, intro: words.keyIntro, button: words.confirm, fields: [], links: [], token: true,
    submit: async () => handOver(await post("/api/prima/v1/accounts/verify", { token })),
  },
};

const titles = { "/login": words.login, "/register": words.register, "/forgot-password": words.forgot, "/magic-link": words.byMail };

/** A path of this very site, or null: whoever wrote the link to this page must not lead the person elsewhere. */
function ownPath(text) {
  if (!text?.startsWith("/") || !URL.canParse(text, location.origin)) return null;
  const url = new URL(text, location.origin);
  return url.origin === location.origin ? url.pathname + url.search : null;
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function field({ label, hint, ...properties }) {
  const input = element("input", properties);
  return element("label", {}, label, input, ...(hint ? [element("span", { className: "hint" }, hint)] : []));
}

function show(screen) {
  const main = document.getElementById("screen");
  document.documentElement.lang = language;
  document.title = `${screen.title} · Labs`;
  const done = element("p");
  done.setAttribute("role", "status");
  const failed = element("p", { className: "bad" });
  failed.setAttribute("role", "alert");
  const button = element("button", { type: "submit" }, screen.button);
  const form = element("form", { noValidate: false }, ...screen.fields.map(field), failed, button);
  const onward = next ? `?next=${encodeURIComponent(next)}` : "";
  const links = screen.links.map((path) => element("a", { href: path + onward }, titles[path]));
  const intro = screen.intro ? [element("p", {}, screen.intro)] : [];
  main.replaceChildren(element("h1", {}, screen.title), ...intro, done, form, element("nav", {}, ...links));
  if (screen.token && !token) {
    failed.textContent = words.noToken;
    button.disabled = true;
    return;
  }
  // An identity provider sent the person back. Only our own words are shown, never the address's.
  if (query.has("error_code")) failed.textContent = words.codes[query.get("error_code")] ?? words.unknown;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    failed.textContent = "";
    try {
      const sentence = await screen.submit(Object.fromEntries(new FormData(form)));
      if (sentence) {
        done.textContent = sentence;
        form.remove();
      }
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (refusal.status === 429) return countDown(refusal.wait, failed, button);
      failed.textContent = screen.codes?.[refusal.code] ?? words.codes[refusal.code] ?? words.unknown;
      const wrong = refusal.fields.map((name) => form.elements.namedItem(name)).find(Boolean);
      wrong?.focus();
    }
    button.disabled = false;
  });
}

/** Shows the wait as the service states it, and gives the button back when it is over. */
function countDown(seconds, place, button) {
  place.textContent = words.wait(seconds);
  if (seconds <= 0) {
    place.textContent = "";
    button.disabled = false;
    return;
  }
  setTimeout(() => countDown(seconds - 1, place, button), 1000);
}

/** Leads somebody who has just signed in to where the person wanted to go, or shows who is signed in. */
async function welcome(tokens) {
  const onward = ownPath(tokens.redirect_to) ?? next;
  if (onward) {
    location.assign(onward);
    return;
  }
  const user = await read("/api/auth/me", tokens.access_token);
  const button = element("button", { type: "button" }, words.logout);
  button.addEventListener("click", async () => {
    await act("/api/auth/logout", tokens.access_token);
    location.assign("/login");
  });
  document.title = `${words.signedIn} · Labs`;
  document.getElementById("screen").replaceChildren(element("h1", {}, words.signedIn), element("p", {}, words.hello(user)), button);
}

/** Shows a developer's first API key: here, and never again. */
function handOver({ email, api_key: { key } }) {
  document.title = `${words.key} · Labs`;
  const shown = element("code", { className: "key" }, key);
  document.getElementById("screen").replaceChildren(element("h1", {}, words.key), element("p", {}, words.keyOnce(email)), shown);
}

show(screens[location.pathname] ?? screens["/login"]);
