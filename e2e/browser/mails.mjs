// The mails that `labs-auth dev` leaves in its folder, as their reader sees the text part.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { until } from './journey.mjs';

/** Waits for a mail to `address` whose text contains `word`, other than those in `seen`; returns its text. */
export function mailTo(folder, address, word, seen = new Set()) {
  return until(`a mail to ${address} with ${word}`, () => {
    const place = `${folder}/data/mail`; // made with the first mail
    const names = existsSync(place) ? readdirSync(place).filter((name) => name.endsWith('.eml') && !seen.has(name)).sort() : [];
    for (const name of names) {
      const raw = readFileSync(`${folder}/data/mail/${name}`, 'utf8');
      const text = raw.includes(`<${address}>`) || raw.includes(`To: ${address}`) ? textOf(raw) : '';
      if (!text.includes(word)) continue;
      seen.add(name);
      return text;
    }
    return undefined;
  });
}

/** The link in a mail that leads to `path`. */
export function linkIn(text, path) {
  const [link] = text.match(new RegExp(`http://\\S+${path}\\?token=[A-Za-z0-9_-]+`)) ?? [];
  if (!link) throw new Error(`no link to ${path} in: ${text}`);
  return link;
}

function textOf(raw) {
  const [, boundary] = raw.match(/boundary="([^"]+)"/) ?? [];
  const part = raw.split(`--${boundary}`).find((it) => /^\s*Content-Type: text\/plain/im.test(it)) ?? raw;
  const [head, ...rest] = part.trimStart().split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  const [, encoding] = head.match(/Content-Transfer-Encoding: (\S+)/i) ?? [];
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
