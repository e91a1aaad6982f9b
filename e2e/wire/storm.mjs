// One request many times at the same moment, in turns to several servers, each from a client of its own. Every connection
// is open before the first byte is sent, so that the requests meet inside the servers and not on the way.
//
//   node storm.mjs COUNT METHOD PATH BODY BASE… [-- HEADER…]      `%n` in PATH and BODY is the number of the request
//
// Prints how often each outcome came, `1x200 49x400`; a redirect's outcome has its target without the query. The answers
// go to the file STORM_ANSWERS as a JSON list of {number, base, status, location, body}. A 503 with Retry-After says "not
// now" (all hands are hashing, or no connection was to be had) and nothing about the race: it is asked again when it says,
// and counted on standard error.
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';

const words = process.argv.slice(2);
const end = words.includes('--') ? words.indexOf('--') : words.length;
const [count, method, path, body, ...bases] = words.slice(0, end);
const extra = Object.fromEntries(words.slice(end + 1).map((line) => line.split(/:\s*/, 2)));

const open = (base) =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(base).port), '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });

const numbered = (text, number) => text.replaceAll('%n', String(number));

function send(number, base, socket) {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(numbered(body, number));
    const headers = { 'X-Forwarded-For': `2001:db8:77:${(number + 1).toString(16)}::1`, Connection: 'close', ...extra };
    if (bytes.length > 0) Object.assign(headers, { 'Content-Type': 'application/json', ...extra, 'Content-Length': bytes.length });
    const url = new URL(base);
    const asked = request(
      { host: url.hostname, port: url.port, path: numbered(path, number), method, headers, createConnection: () => socket, timeout: 60_000 },
      (reply) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (part) => (text += part));
        reply.on('end', () => resolve({ number, base, status: reply.statusCode, location: reply.headers.location, wait: reply.headers['retry-after'], body: text }));
      },
    );
    asked.on('error', reject);
    asked.on('timeout', () => asked.destroy(new Error('no answer in a minute')));
    asked.end(bytes);
  });
}

const lines = Array.from({ length: Number(count) }, (_, number) => ({ number, base: bases[number % bases.length] }));
let answers = [];
let repeated = 0;
for (let wave = lines; wave.length > 0; ) {
  const sockets = await Promise.all(wave.map(({ base }) => open(base)));
  const replies = await Promise.all(wave.map(({ number, base }, at) => send(number, base, sockets[at])));
  const later = replies.filter((reply) => reply.status === 503 && reply.wait);
  answers = answers.concat(replies.filter((reply) => !later.includes(reply)));
  wave = later.map(({ number, base }) => ({ number, base }));
  repeated += later.length;
  if (repeated > 10 * lines.length) throw new Error('still 503 after ten waves');
  if (later.length > 0) await new Promise((resolve) => setTimeout(resolve, 1000 * Math.max(...later.map((it) => Number(it.wait)))));
}
if (repeated > 0) console.error(`${repeated} were told to come again by a 503`);
answers.sort((one, other) => one.number - other.number);
writeFileSync(process.env.STORM_ANSWERS, JSON.stringify(answers));
const outcomes = answers.map(({ status, location }) => (location ? `${status} ${location.split('?')[0]}` : String(status)));
const tally = [...new Set(outcomes)].sort().map((it) => `${outcomes.filter((other) => other === it).length}x${it}`);
console.log(tally.join(' '));
