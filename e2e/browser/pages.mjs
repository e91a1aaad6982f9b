// The pages of every site: one blank page, and the module that docs/passkeys.md tells people to use. Under /api it hands
// on to the service, as a proxy on the page's own origin does.
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

const document = readFileSync(new URL('../../docs/passkeys.md', import.meta.url), 'utf8');
const [, module] = document.match(/```js\n(\/\/ passkeys\.mjs[\s\S]*?)```/) ?? [];
if (!module) throw new Error('docs/passkeys.md holds no module');

const PAGE = `<!doctype html><meta charset="utf-8"><title>Sign in</title>
<form><input name="email" autocomplete="username webauthn"></form>
<script type="module">
  import { passkeys } from '/passkeys.mjs';
  Object.assign(window, { passkeys });
</script>`;

export function servePages(port, api) {
  const server = createServer((asked, answer) => {
    if (asked.url.startsWith('/api/')) return handOn(asked, answer, api);
    const [type, text] = asked.url === '/passkeys.mjs' ? ['text/javascript', module] : ['text/html', PAGE];
    answer.writeHead(200, { 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': 'no-store' }).end(text);
  });
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}

function handOn(asked, answer, api) {
  const headers = { ...asked.headers, 'x-forwarded-for': asked.socket.remoteAddress };
  const onward = request(`${api}${asked.url}`, { method: asked.method, headers }, (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  onward.on('error', () => answer.writeHead(502).end());
  asked.pipe(onward);
}
