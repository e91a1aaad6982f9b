// Two sites, one person, one device: enrol and sign in on both, be refused on the wrong one, remove.
import { check, freePorts, travel } from './journey.mjs';
import { servePages } from './pages.mjs';

const [apiPort, pagePort] = freePorts(2);
// Another site than the pages of b, so that b asks across sites; a asks through its own origin.
const api = `http://127.0.0.1:${apiPort}`;
const A = `http://a.localhost:${pagePort}`;
const B = `http://b.localhost:${pagePort}`;
const C = `http://c.localhost:${pagePort}`;
const PERSON = 'admin@labs.localhost';

// Runs in the page: a verb of the module, told as what it returned or how it failed.
const run = (page, base, verb, ...args) =>
  page.evaluate(
    async ([base, verb, args]) => {
      try {
        return await window.passkeys(base)[verb](...args);
      } catch (error) {
        return { failed: error.name, status: error.status, code: error.code };
      }
    },
    [base, verb, args],
  );

// The same for a passkey that the device has not got. What the service names instead may be an internal passkey, which
// the browser misses at once, or one on a security key, for which it waits until the page gives up.
const signInInVain = (page, base, email) =>
  page.evaluate(
    async ([base, email]) => {
      const signal = AbortSignal.timeout(3_000);
      return window.passkeys(base).signIn(email, { signal }).then((it) => it, (error) => error.name);
    },
    [base, email],
  );
const IN_VAIN = ['NotAllowedError', 'TimeoutError'];

async function visit(page, origin) {
  await page.goto(`${origin}/`);
  await page.waitForFunction(() => 'passkeys' in window);
}

async function prove(page, device) {
  const held = async () => (await device.send('WebAuthn.getCredentials', { authenticatorId: device.id })).credentials;

  await visit(page, A);
  const session = await page.evaluate(async () => (await fetch('/api/auth/dev-login', { method: 'POST' })).json());
  const token = session.access_token;
  check('a page may ask for the person to be signed in', PERSON, session.user.email);

  check('before anything, the page offers no passkey first', false, (await run(page, '', 'check', PERSON)).has_passkeys);
  const onA = await run(page, '', 'enrol', token, 'on a');
  check('enrol on a', ['on a', 'a.localhost'], [onA.name, onA.rp_id]);
  check('the passkey rests on the device', [true, 'a.localhost'], [(await held())[0].isResidentCredential, (await held())[0].rpId]);
  const again = await run(page, '', 'enrol', token, 'once more');
  check('the same device is not enrolled twice', 'InvalidStateError', again.failed);
  const inA = await run(page, '', 'signIn', PERSON);
  check('sign in on a by address', PERSON, inA.user?.email);
  const anyA = await run(page, '', 'signInWithAny', {});
  check('sign in on a without an address', PERSON, anyA.user?.email);
  const remembered = await run(page, '', 'check', PERSON);
  check('now the page of this browser offers it first', [true, 'a.localhost'], [remembered.has_passkeys, remembered.rp_id]);

  await visit(page, B);
  const stray = await signInInVain(page, api, PERSON);
  check('the passkey of a is not offered on b', true, IN_VAIN.includes(stray));
  const onB = await run(page, api, 'enrol', token, 'on b');
  check('enrol on b, across sites', ['on b', 'b.localhost'], [onB.name, onB.rp_id]);
  const inB = await run(page, api, 'signIn', PERSON);
  check('sign in on b by address', PERSON, inB.user?.email);
  const anyB = await run(page, api, 'signInWithAny', {});
  check('sign in on b without an address', PERSON, anyB.user?.email);
  const unknown = await signInInVain(page, api, 'nobody@example.com');
  check('an unknown address looks like any other and opens nothing', true, IN_VAIN.includes(unknown));

  // A browser that does not look would send b's answer to a's challenge.
  const crossed = await page.evaluate(async (api) => {
    const call = async (path, body) => {
      const headers = { 'Content-Type': 'application/json' };
      return fetch(`${api}/api/auth/webauthn/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    };
    const begun = await (await call('login/begin-discoverable', {})).json();
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(begun.options);
    const refused = await navigator.credentials.get({ publicKey: { ...options, rpId: 'a.localhost' } }).catch((it) => it.name);
    const own = (await navigator.credentials.get({ publicKey: options })).toJSON();
    return { refused, own };
  }, api);
  check('the browser keeps a page of b from asking for a', 'SecurityError', crossed.refused);
  await visit(page, A);
  const replayed = await page.evaluate(async (credential) => {
    const call = async (path, body) => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch(`/api/auth/webauthn/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    };
    const begun = await call('login/begin-discoverable', {});
    return (await call('login/complete-discoverable', { challenge_id: begun.challenge_id, credential })).code;
  }, crossed.own);
  check('an answer from b is refused on a', 'WEBAUTHN_002', replayed);
  await visit(page, C);
  const elsewhere = await run(page, api, 'signInWithAny', {});
  check('a site without passkeys says so', [403, 'WEBAUTHN_003'], [elsewhere.status, elsewhere.code]);

  await visit(page, A);
  const suggests = await page.evaluate(() => PublicKeyCredential.isConditionalMediationAvailable());
  check('the browser can suggest passkeys', true, suggests);
  const suggested = await run(page, '', 'signInWithAny', { mediation: 'conditional' });
  check('sign in by a suggestion in the form', PERSON, suggested.user?.email);

  const listed = await run(page, '', 'list', token);
  check('both passkeys are listed, newest first', ['on b', 'on a'], listed.credentials.map((it) => it.name));
  const renamed = await run(page, '', 'rename', token, onA.id, 'the first');
  check('rename', 'the first', renamed.name);
  check('remove', null, await run(page, '', 'remove', token, onA.id));
  const gone = await run(page, '', 'signInWithAny', {});
  check('a removed passkey opens nothing, though the device still has it', [401, 'WEBAUTHN_002'], [gone.status, gone.code]);
  await visit(page, B);
  const stays = await run(page, api, 'signInWithAny', {});
  check('the one on b stays', PERSON, stays.user?.email);
}

async function addDevice(context, page) {
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options });
  return { id: authenticatorId, send: (method, params) => session.send(method, params) };
}

const site = (name, origin) => ({ rp_id: name, rp_name: `Site ${name[0].toUpperCase()}`, origins: [origin] });
const variables = {
  WEBAUTHN_RPS: JSON.stringify([site('a.localhost', A), site('b.localhost', B)]),
  CORS_ORIGINS: [A, B, C].join(','),
};

await travel({ port: apiPort, variables }, async ({ browser, closing }) => {
  const pages = await servePages(pagePort, api);
  closing.push(() => pages.close(), () => pages.closeAllConnections());
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const device = await addDevice(context, page);
  await prove(page, device);
});
