// A certified OpenID provider on the loopback interface, with one client and one person who always agrees.
//
//   node provider.mjs PORT REDIRECT_URI EMAIL      prints one line once it listens
//
// `GET /as/SUBJECT` chooses who the person is; the subject `unverified` has an address that is not verified.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

const [port, redirectUri, email] = process.argv.slice(2);
if (!port || !redirectUri || !email) {
  console.error('usage: node provider.mjs PORT REDIRECT_URI EMAIL');
  process.exit(2);
}

const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
let subject = 'anna';

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'labs',
      client_secret: 'a secret between the two of them',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'proof', use: 'sig', alg: 'RS256' }] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  cookies: { keys: ['a key for the provider’s own cookies'] },
  // As far as the provider is concerned, whoever comes has signed in and agreed long ago.
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email, email_verified: id !== 'unverified', name: 'Anna Muster' }),
  }),
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  async loadExistingGrant(ctx) {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
});

const speak = provider.callback();
const server = createServer(async (request, response) => {
  const path = new URL(request.url, issuer).pathname;
  if (path.startsWith('/as/')) {
    subject = path.slice('/as/'.length);
    response.end();
  } else if (path.startsWith('/interaction/')) {
    const { uid, prompt } = await provider.interactionDetails(request, response);
    const answer =
      subject === 'nobody'
        ? { error: 'access_denied', error_description: 'the person declined' }
        : prompt.name === 'login'
          ? { login: { accountId: subject } }
          : { error: 'access_denied', error_description: `nobody answers ${prompt.name} for ${uid}` };
    await provider.interactionFinished(request, response, answer, { mergeWithLastSubmission: false });
  } else {
    speak(request, response);
  }
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${issuer}`));

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
