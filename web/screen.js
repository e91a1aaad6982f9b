// The hosted screens: one document, and the address decides which form it shows. Tokens of a session stay in memory.

import { act, post, read, Refusal } from "./api.js";
import { language, words } from "./words.js";

const fields = {
  email: { name: "email", type: "email", label: words.email, autocomplete: "username", required: true },
  password: { name: "password", type: "password", label: words.password, autocomplete: "current-password", required: true },
  newPassword: { name: "password", type: "password", label: words.newPassword, autocomplete: "new-password", required: true, minLength: 8, hint: words.passwordHint },
  name: { name: "full_name", type: "text", label: words.name, autocomplete: "name" },
};

const screens = {
  "/login": {
    title: words.login, button: words.login, fields: [fields.email, fields.password], links: ["/register", "/forgot-password"],
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
    submit: async (_, token) => (await post("/api/auth/verify-email", { token }), words.verified),
  },
  "/reset-password": {
    title: words.reset, button: words.save, fields: [fields.newPassword], links: ["/login"], token: true,
    submit: async (values, token) => (await post("/api/auth/reset-password", { token, new_password: values.password }), words.changed),
  },
  "/magic-link": {
    title: words.login, button: words.login, fields: [], links: ["/login"], token: true,
    submit: async (_, token) => welcome(await post("/api/auth/verify-magic-link", { token })),
  },
  "/set-password": {
    title: words.set, button: words.save, fields: [fields.newPassword], links: ["/login"], token: true,
    submit: async (values, token) => welcome(await post("/api/auth/set-password", { token, ...values })),
  },
};

const titles = { "/login": words.login, "/register": words.register, "/forgot-password": words.forgot };

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
  const token = new URLSearchParams(location.search).get("token");
  const main = document.getElementById("screen");
  document.documentElement.lang = language;
  document.title = `${screen.title} · Labs`;
  const done = element("p");
  done.setAttribute("role", "status");
  const failed = element("p", { className: "bad" });
  failed.setAttribute("role", "alert");
  const button = element("button", { type: "submit" }, screen.button);
  const form = element("form", { noValidate: false }, ...screen.fields.map(field), failed, button);
  const links = screen.links.map((path) => element("a", { href: path }, titles[path]));
  const intro = screen.intro ? [element("p", {}, screen.intro)] : [];
  main.replaceChildren(element("h1", {}, screen.title), ...intro, done, form, element("nav", {}, ...links));
  if (screen.token && !token) {
    failed.textContent = words.noToken;
    button.disabled = true;
    return;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    failed.textContent = "";
    try {
      const sentence = await screen.submit(Object.fromEntries(new FormData(form)), token);
      if (sentence) {
        done.textContent = sentence;
        form.remove();
      }
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (refusal.status === 429) return countDown(refusal.wait, failed, button);
      failed.textContent = words.codes[refusal.code] ?? words.unknown;
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

/** The page of somebody who has just signed in. */
async function welcome(tokens) {
  const user = await read("/api/auth/me", tokens.access_token);
  const button = element("button", { type: "button" }, words.logout);
  button.addEventListener("click", async () => {
    await act("/api/auth/logout", tokens.access_token);
    location.assign("/login");
  });
  document.title = `${words.signedIn} · Labs`;
  document.getElementById("screen").replaceChildren(element("h1", {}, words.signedIn), element("p", {}, words.hello(user)), button);
}

show(screens[location.pathname] ?? screens["/login"]);
