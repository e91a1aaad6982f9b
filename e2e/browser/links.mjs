// Every mailed link by the hosted screens: register and confirm, reset, sign in by link and by code, change the address and
// undo it; and where a link leads that somebody else wrote.
import { check, freePorts, travel } from './journey.mjs';
import { linkIn, mailTo } from './mails.mjs';

const [port] = freePorts(1);
const origin = `http://localhost:${port}`;
const EMAIL = 'ben@labs.localhost';
const MOVED = 'ben.moved@labs.localhost';
const PASSWORD = 'violet anchor seldom 47 harvest';
const CHOSEN = 'quiet lantern orbit 12 meadow';

const button = (page, name) => page.getByRole('button', { name, exact: true });
const link = (page, name) => page.getByRole('link', { name, exact: true });
const path = (page) => new URL(page.url()).pathname;

await travel({ port }, async ({ folder, browser }) => {
  const complaints = [];
  const open = async () => {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  };
  const seen = new Set();
  const mail = (address, word) => mailTo(folder, address, word, seen);
  const signedIn = async (page, address) => {
    await page.getByRole('heading', { name: 'Signed in' }).waitFor();
    return (await page.locator('main').innerText()).includes(`You are signed in as ${address}.`);
  };
  const said = (page) => page.getByRole('status').filter({ hasText: /./ }).innerText();
  const signIn = async (page, address, password) => {
    await page.getByLabel('Email address').fill(address);
    await page.getByLabel('Password').fill(password);
    await button(page, 'Sign in').click();
  };

  const page = await open();
  await page.goto(`${origin}/login`);
  await link(page, 'Create an account').click();
  await page.getByLabel('Name (optional)').fill('Ben <b>Muster</b>');
  await page.getByLabel('Email address').fill(EMAIL);
  await page.getByLabel('New password').fill(PASSWORD);
  await button(page, 'Create an account').click();
  check('registering says where to look', true, (await said(page)).includes('look into your inbox'));
  const confirmation = linkIn(await mail(EMAIL, '/verify-email'), '/verify-email');
  check('the link leads to the hosted screen', true, confirmation.startsWith(`${origin}/verify-email?token=`));
  await page.goto(confirmation);
  await page.goto(confirmation);
  check('opening it, even twice, confirms nothing', true, await button(page, 'Confirm').isEnabled());
  await button(page, 'Confirm').click();
  check('the button does', true, (await said(page)).includes('confirmed'));
  await link(page, 'Sign in').click();
  await signIn(page, EMAIL, PASSWORD);
  check('signed in by password', true, await signedIn(page, EMAIL));
  await button(page, 'Sign out').click();
  // The address is the same before and after; the form comes with the page that is loaded anew.
  await page.getByLabel('Password').waitFor();
  check('so far no complaint of the browser', [], complaints);
  await page.goto(confirmation);
  await button(page, 'Confirm').click();
  check('pressing it a second time is no fault', true, (await said(page)).includes('confirmed'));
  await page.goto(`${origin}/verify-email?token=x`);
  await button(page, 'Confirm').click();
  check('a link that is none says so', true, (await page.getByRole('alert').filter({ hasText: /./ }).innerText()).includes('no longer valid'));

  await page.goto(`${origin}/login`);
  await link(page, 'Forgot your password?').click();
  await page.getByLabel('Email address').fill(EMAIL);
  await button(page, 'Send the link').click();
  await said(page);
  await page.goto(linkIn(await mail(EMAIL, '/reset-password'), '/reset-password'));
  await page.getByLabel('New password').fill('password1');
  await button(page, 'Save').click();
  check('a common password is refused', true, (await page.getByRole('alert').filter({ hasText: /./ }).innerText()).includes('too easy'));
  await page.getByLabel('New password').fill(CHOSEN);
  await button(page, 'Save').click();
  check('which costs the link nothing', true, (await said(page)).includes('changed'));
  await link(page, 'Sign in').click();
  await signIn(page, EMAIL, PASSWORD);
  check('the old password is over', true, (await page.getByRole('alert').filter({ hasText: /./ }).innerText()).includes('wrong'));
  await signIn(page, EMAIL, CHOSEN);
  check('the new one signs in', true, await signedIn(page, EMAIL));

  const ask = async (asking, from = '/magic-link') => {
    await asking.goto(`${origin}${from}`);
    await asking.getByLabel('Email address').fill(EMAIL);
    await button(asking, 'Send the link').click();
    await asking.getByLabel('Code from the email').waitFor();
    const text = await mail(EMAIL, '/magic-link');
    return { link: linkIn(text, '/magic-link'), code: text.match(/^[0-9A-Z]{4}-[0-9A-Z]{4}\r?$/m)[0].trim() };
  };
  const other = await open();
  const byLink = await ask(page);
  await other.goto(byLink.link);
  await button(other, 'Sign in').click();
  check('a mailed link signs in, in another browser too', true, await signedIn(other, EMAIL));
  await page.getByLabel('Code from the email').fill(byLink.code);
  await button(page, 'Sign in').click();
  check('its code is spent with it', true, (await page.getByRole('alert').filter({ hasText: /./ }).innerText()).includes('not valid'));
  const byCode = await ask(page);
  await page.getByLabel('Code from the email').fill(byCode.code.toLowerCase().replace('-', ' '));
  await button(page, 'Sign in').click();
  check('a code signs in, however it is typed', true, await signedIn(page, EMAIL));
  await other.goto(byCode.link);
  await button(other, 'Sign in').click();
  check('its link is spent with it', true, (await other.getByRole('alert').filter({ hasText: /./ }).innerText()).includes('no longer valid'));

  const wanted = await ask(page, `/magic-link?next=${encodeURIComponent('/register?from=mail')}`);
  await other.goto(wanted.link);
  await button(other, 'Sign in').click();
  await other.waitForURL(`${origin}/register?from=mail`);
  check('a link leads to where the person wanted to go', '/register', path(other));
  for (const evil of ['https://evil.example/', '//evil.example/', '/\\evil.example', '/\t/evil.example', 'javascript:alert(1)']) {
    await page.goto(`${origin}/login?next=${encodeURIComponent(evil)}`);
    await signIn(page, EMAIL, CHOSEN);
    check(`signing in leads to no other site: ${JSON.stringify(evil)}`, [true, '/login'], [await signedIn(page, EMAIL), path(page)]);
  }
  await page.goto(`${origin}/login?error=access_denied&error_code=${encodeURIComponent('<b>x</b>')}`);
  check('words of the address are not shown', 'That did not work. Please try again.', await page.getByRole('alert').innerText());
  await page.goto(`${origin}/login?error=access_denied&error_code=AUTH_014`);
  check('an unfinished sign-in elsewhere is told', true, (await page.getByRole('alert').innerText()).includes('not completed'));

  const developer = 'dora@labs.localhost';
  await page.evaluate((email) => fetch('/api/prima/v1/accounts', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email }),
  }), developer);
  const signup = linkIn(await mail(developer, '/developers/verify'), '/developers/verify');
  await page.goto(signup);
  await button(page, 'Confirm').click();
  await page.getByRole('heading', { name: 'Your API key' }).waitFor();
  const key = await page.locator('code').innerText();
  check("a developer's link ends in the key", true, /^sk-prima-[A-Za-z0-9_-]{40,}$/.test(key));
  await page.goto(signup);
  await button(page, 'Confirm').click();
  check('and shows it once', true, (await page.getByRole('alert').filter({ hasText: /./ }).innerText()).includes('no longer valid'));

  const change = await page.evaluate(async ([email, password, moved]) => {
    const call = async (path, body, token) => {
      const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) };
      const reply = await fetch(`/api/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: reply.status, body: await reply.json() };
    };
    const session = (await call('login', { email, password })).body;
    return (await call('change-email', { new_email: moved, current_password: password }, session.access_token)).status;
  }, [EMAIL, CHOSEN, MOVED]);
  check('a change of address is asked for', 202, change);
  await page.goto(linkIn(await mail(MOVED, '/confirm-email'), '/confirm-email'));
  await button(page, 'Confirm').click();
  check('the link in the new mailbox makes it', true, (await said(page)).includes('now in use'));
  await page.goto(linkIn(await mail(EMAIL, '/undo-email'), '/undo-email'));
  await button(page, 'Undo the change').click();
  check('the link in the former mailbox undoes it', true, (await said(page)).includes('former address is in use again'));
  await page.goto(linkIn(await mail(EMAIL, '/reset-password'), '/reset-password'));
  await page.getByLabel('New password').fill(PASSWORD);
  await button(page, 'Save').click();
  await said(page);
  await link(page, 'Sign in').click();
  await signIn(page, EMAIL, PASSWORD);
  check('and the person is back', true, await signedIn(page, EMAIL));

  const german = await (await browser.newContext({ locale: 'de-CH' })).newPage();
  await german.goto(`${origin}/login`);
  await german.getByRole('heading', { name: 'Anmelden' }).waitFor();
  check('a German reader reads German', 'de', await german.locator('html').getAttribute('lang'));
  const served = complaints.filter((it) => !/status of 4\d\d/.test(it));
  check('beside refusals no complaint of the browser', [], served);
});
