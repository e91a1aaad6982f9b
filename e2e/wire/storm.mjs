// One request many times at the same moment, in turns to several servers, each from a client of its own. Every connection
// is open before the first byte is sent, so that the requests meet inside the servers and not on the way.
//
//   node storm.mjs COUNT METHOD PATH BODY BASE… [-- HEADER…]      `%n` in PATH and BODY is the number of the request
//
// Prints how often each outcome came, `1x200 49x400`; a redirect's outcome has its target without the query. The answers
// go to the file STORM_ANSWERS as a JSON list of {number, base, status, location, body}.
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
        reply.on('end', () => resolve({ number, base, status: reply.statusCode, location: reply.headers.location, body: text }));
      },
    );
    asked.on('error', reject);
    asked.on('timeout', () => asked.destroy(new Error('no answer in a minute')));
    asked.end(bytes);
  });
}

const own = Array.from({ length: Number(count) }, (_, number) => bases[number % bases.length]);
const sockets = await Promise.all(own.map(open));
const answers = await Promise.all(own.map((base, number) => send(number, base, sockets[number])));
writeFileSync(process.env.STORM_ANSWERS, JSON.stringify(answers));
const outcomes = answers.map(({ status, location }) => (location ? `${status} ${location.split('?')[0]}` : String(status)));
const tally = [...new Set(outcomes)].sort().map((it) => `${outcomes.filter((other) => other === it).length}x${it}`);
console.log(tally.join(' '));
