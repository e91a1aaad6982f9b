// A terminal and a browser on one computer: `labs-auth login` by the hosted screens, allowed and declined; then what foreign
// pages can do with the form of the page that asks.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { check, freePorts, travel, until } from './journey.mjs';
import { linkIn, mailTo } from './mails.mjs';

const [port, foreignPort] = freePorts(2);
const origin = `http://localhost:${port}`;
const EMAIL = 'anna@labs.localhost';
const PASSWORD = 'violet anchor seldom 47 harvest';
const LABEL = "Anna's <b>laptop</b>";

const post = async (path, body, headers = {}) => {
  const options = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
  return (await fetch(`${origin}${path}`, options)).json();
};

/** `labs-auth`, with a configuration folder of its own and without a desktop that could open a browser. */
const terminal = (home) => ({ env: { PATH: process.env.PATH, HOME: home }, encoding: 'utf8', timeout: 20_000 });
const say = (home, word) => {
  const { status, stdout, stderr } = spawnSync(process.env.E2E_BINARY, [word], terminal(home));
  return { status, said: `${stdout}${stderr}`.trim() };
};

/** Starts `labs-auth login`; `page` is the address it prints, `ended` its end with all it said. */
async function login(home, closing, name = LABEL) {
  const program = spawn(process.env.E2E_BINARY, ['login', '--no-browser', '--name', name, '--server', origin], terminal(home));
  closing.push(() => program.kill());
  let said = '';
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (bytes) => (said += bytes));
  const ended = new Promise((resolve) => program.once('exit', (status) => resolve({ status, said })));
  const page = await until('the printed address', () => said.match(/http:\S+cli-login\S+/)?.[0]);
  return { page, ended };
}

const button = (page, name) => page.getByRole('button', { name, exact: true });

await travel({ port }, async ({ folder, browser, closing }) => {
  const home = `${folder}/home`;
  mkdirSync(home);
  const kept = `${home}/.config/labs-auth/session.json`;
  await post('/api/auth/register', { email: EMAIL, password: PASSWORD, locale: 'en' });
  const token = linkIn(await mailTo(folder, EMAIL, '/verify-email'), '/verify-email').split('token=')[1];
  await post('/api/auth/verify-email', { token });

  const context = await browser.newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  // What the browser itself would tell a developer: a policy that stops a page of ours, a script that fails.
  const complaints = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));

  check('before signing in, nobody is signed in', 1, say(home, 'whoami').status);
  const first = await login(home, closing);
  await page.goto(first.page);
  check('whoever has no session signs in first', [origin, '/login'], [new URL(page.url()).origin, new URL(page.url()).pathname]);
  await page.getByLabel('Email address').fill(EMAIL);
  await page.getByLabel('Password').fill('a wrong password');
  await button(page, 'Sign in').click();
  await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
  check('a wrong password stays on the page', '/login', new URL(page.url()).pathname);
  complaints.length = 0; // the browser reports the 401
  await page.getByLabel('Password').fill(PASSWORD);
  await button(page, 'Sign in').click();
  await page.waitForURL((url) => url.pathname === '/api/auth/cli-login');
  check('and comes back to the page that asks', first.page.split('?')[1], new URL(page.url()).search.slice(1));
  const shown = await page.locator('main').innerText();
  check('it names account, computer and port', [true, true, true], [EMAIL, LABEL, `127.0.0.1:${new URL(first.page).searchParams.get('port')}`].map((it) => shown.includes(it)));
  check('what the computer calls itself is text', 0, await page.locator('main b').count());
  check('the page is styled, its policy admits its own style', 'rgb(29, 78, 216)', await button(page, 'Authorise').evaluate((it) => getComputedStyle(it).backgroundColor));
  const sent = page.waitForRequest((request) => request.method() === 'POST');
  await button(page, 'Authorise').click();
  const request = await sent;
  check('the browser names our own origin', origin, (await request.allHeaders()).origin);
  await page.getByText('You are signed in').waitFor();
  check('the browser ends on the loopback interface', ['127.0.0.1', '/callback'], [new URL(page.url()).hostname, new URL(page.url()).pathname]);
  const end = await first.ended;
  check('the program says who is signed in', [0, true], [end.status, end.said.includes(`Signed in as ${EMAIL}.`)]);
  check('no complaint of the browser', [], complaints);
  check('the tokens are nobody else’s to read', ['600', '700'], [kept, `${home}/.config/labs-auth`].map((it) => (statSync(it).mode & 0o777).toString(8)));
  check('no token travelled in an address', false, page.url().includes(JSON.parse(readFileSync(kept, 'utf8')).access_token));
  const me = say(home, 'whoami');
  check('whoami', [0, `${EMAIL} at ${origin}/`], [me.status, me.said]);

  const session = await post('/api/auth/login', { email: EMAIL, password: PASSWORD });
  const bearer = { Authorization: `Bearer ${session.access_token}` };
  const sessions = async () => (await (await fetch(`${origin}/api/auth/sessions`, { headers: bearer })).json()).sessions;
  const ofTerminal = (await sessions()).find((it) => it.signed_in_by === 'cli');
  check('the list of sessions names the computer', [LABEL, 'The labs-auth command line'], [ofTerminal.label, ofTerminal.user_agent]);
  const letter = await mailTo(folder, EMAIL, 'The labs-auth command line');
  // Mails break what could be taken for a web address by signs that nobody sees.
  check('so does the mail about it', true, letter.replaceAll('\u200b', '').includes(`The labs-auth command line (${LABEL})`));
  await page.goBack();
  const nobody = page.waitForEvent('requestfailed');
  await button(page, 'Authorise').click();
  const lost = new URL((await nobody).url());
  check('pressing it again reaches nobody and ends nothing', ['127.0.0.1', '/callback', 0], [lost.hostname, lost.pathname, say(home, 'whoami').status]);
  const out = say(home, 'logout');
  check('logout', [0, 'Signed out.', false], [out.status, out.said, existsSync(kept)]);
  check('the session at the server has ended', undefined, (await sessions()).find((it) => it.signed_in_by === 'cli'));
  check('the browser stays signed in', true, (await sessions()).length >= 2);

  const second = await login(home, closing);
  await page.goto(second.page);
  await button(page, 'Cancel').click();
  await page.getByText('cancelled').waitFor();
  const declined = await second.ended;
  check('a person who declines ends the program', [1, true, false], [declined.status, declined.said.includes('cancelled'), existsSync(kept)]);

  // The form as the page has it, posted from elsewhere. The program still listens: a code that got out would reach it.
  const third = await login(home, closing);
  await page.goto(third.page);
  const form = await page.locator('form').evaluate((it) => Object.fromEntries(new FormData(it)));
  const action = `${origin}/api/auth/cli-login`;
  const stranger = await serveForm(foreignPort, action, { ...form, decision: 'allow' });
  closing.push(() => stranger.close(), () => stranger.closeAllConnections());
  const submit = async (address) => {
    const tab = await context.newPage();
    tab.setDefaultTimeout(20_000);
    const posted = tab.waitForRequest((it) => it.method() === 'POST');
    const answered = tab.waitForResponse((it) => it.request().method() === 'POST');
    await tab.goto(address);
    const headers = await (await posted).allHeaders();
    const status = (await answered).status();
    await tab.waitForURL(action);
    await tab.close();
    return { status, origin: headers.origin, site: headers['sec-fetch-site'], cookie: Boolean(headers.cookie) };
  };
  const sameSite = `http://localhost:${foreignPort}`;
  check('a page of another origin of this site', { status: 403, origin: sameSite, site: 'same-site', cookie: true }, await submit(`${sameSite}/`));
  check('a page that hides its origin', { status: 403, origin: 'null', site: 'same-site', cookie: true }, await submit(`${sameSite}/hidden`));
  const crossSite = `http://127.0.0.1:${foreignPort}`;
  check('a page of another site has no cookie', { status: 401, origin: crossSite, site: 'cross-site', cookie: false }, await submit(`${crossSite}/`));
  const tab = await context.newPage();
  await tab.goto(`${sameSite}/frame?${encodeURIComponent(third.page)}`);
  await tab.locator('iframe').waitFor();
  const inside = await until('the frame', async () => tab.frames().find((it) => it !== tab.mainFrame() && it.url() !== '' && it.url() !== 'about:blank'));
  check('the page cannot be framed', [0, true], [await inside.locator('form').count(), inside.url().startsWith('chrome-error:')]);
  await tab.close();
  const changed = await context.newPage();
  await changed.goto(third.page);
  await changed.locator('input[name=state]').evaluate((it) => (it.value = 'another-state-of-a-client'));
  const refused = changed.waitForResponse((it) => it.request().method() === 'POST');
  await button(changed, 'Authorise').click();
  check('a page of ours whose fields were changed is refused', 403, (await refused).status());
  await changed.waitForURL(action);
  await changed.close();
  await button(page, 'Authorise').click();
  await page.getByText('You are signed in').waitFor();
  check('after all that the true page still works', 0, (await third.ended).status);
});

/** Pages of a stranger: one posts the form at once, one does so without telling its origin, one frames what it is told. */
function serveForm(port, action, fields) {
  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const inputs = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`);
  const form = `<form method="post" action="${action}">${inputs.join('')}</form><script>document.forms[0].submit()</script>`;
  const server = createServer((asked, answer) => {
    const [path, query = ''] = asked.url.split('?');
    const hidden = path === '/hidden' ? '<meta name="referrer" content="no-referrer">' : '';
    const body = path === '/frame' ? `<iframe src="${escaped(decodeURIComponent(query))}"></iframe>` : form;
    answer.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(`<!doctype html>${hidden}${path === '/favicon.ico' ? '' : body}`);
  });
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}
