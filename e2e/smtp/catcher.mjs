// Accepts every mail on 127.0.0.1 (or the host given) and writes each to one file, `<n>.eml`.
// It never relays. A recipient `slow-<ms>-…@…` makes it keep the answer to DATA back for that long: the mail then
// stands as `<n>.part`, which lets a caller act while a mail is in hand.
//
//   node catcher.mjs FOLDER PORT [HOST]      prints one line once it listens
import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';

const [folder, port, host = '127.0.0.1'] = process.argv.slice(2);
if (!folder || !port) {
  console.error('usage: node catcher.mjs FOLDER PORT [HOST]');
  process.exit(2);
}

// Numbered from the clock, so that a restarted catcher never overwrites what an earlier one wrote.
let next = Date.now();

async function keep(stream, session) {
  const name = join(folder, String(next++));
  await pipeline(stream, createWriteStream(`${name}.part`, { flags: 'wx' }));
  const held = session.envelope.rcptTo.map(({ address }) => Number(/^slow-(\d+)-/.exec(address)?.[1] ?? 0));
  await wait(Math.max(0, ...held));
  await rename(`${name}.part`, `${name}.eml`);
}

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onData(stream, session, done) {
    keep(stream, session).then(() => done(), done);
  },
});
server.on('error', (error) => console.error(error.message));
server.listen(Number(port), host, () => console.log(`listening on ${host}:${port}`));

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => server.close(() => process.exit(0)));
