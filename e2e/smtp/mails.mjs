// Reads what the catcher wrote, as a mail program would: the MIME parts decoded, the addresses parsed.
//
//   node mails.mjs count FOLDER ADDRESS            how many mails that mailbox holds
//   node mails.mjs token FOLDER ADDRESS PREFIX     waits for a mail with a link `PREFIX?token=…`, prints its token
//   node mails.mjs wait  FOLDER ADDRESS WORD       waits for a mail that contains WORD, prints its subject
//
// The newest mail that fits is taken. Waiting ends after MAIL_WAIT_SECONDS (default 30) with exit code 1.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { simpleParser } from 'mailparser';

const [verb, folder, address, word] = process.argv.slice(2);
const seconds = Number(process.env.MAIL_WAIT_SECONDS ?? 30);

async function mailbox() {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml'));
  const mails = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return Object.assign(await simpleParser(await readFile(path)), { written: (await stat(path)).mtimeMs });
    }),
  );
  mails.sort((a, b) => a.written - b.written); // the Date header counts whole seconds only
  return mails.filter((mail) => mail.to?.value.some((to) => to.address?.toLowerCase() === address.toLowerCase()));
}

const written = (mail) => `${mail.text ?? ''}\n${mail.html || ''}`;

function token(mail) {
  const start = written(mail).indexOf(`${word}?token=`);
  if (start < 0) return undefined;
  return /^[\w.~-]+/.exec(written(mail).slice(start + word.length + '?token='.length))?.[0];
}

const seek = {
  token,
  wait: (mail) => (written(mail).includes(word) ? mail.subject || '(no subject)' : undefined),
}[verb];

if (verb === 'count') {
  console.log((await mailbox()).length);
} else if (seek && word) {
  const until = Date.now() + seconds * 1000;
  for (;;) {
    const found = (await mailbox()).map(seek).findLast((value) => value !== undefined);
    if (found !== undefined) {
      console.log(found);
      break;
    }
    if (Date.now() > until) {
      console.error(`no fitting mail for ${address} within ${seconds} s`);
      process.exit(1);
    }
    await wait(50);
  }
} else {
  console.error('usage: node mails.mjs count|token|wait FOLDER ADDRESS [PREFIX|WORD]');
  process.exit(2);
}
