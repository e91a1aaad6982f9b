// Asks for /health while many logins hash, then compares the time of an unknown address with that of a wrong password.
// Prints JSON; times in milliseconds, middles and 95th percentiles.
//
//   node hashes.mjs PORT ADDRESS LOGINS PAIRS
//
// Every login comes from a network of its own, as a trusted proxy would report it.
import http from 'node:http';

const [port, address, logins, pairs] = process.argv.slice(2).map((it, at) => (at === 1 ? it : Number(it)));
const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
let networks = 0;

const ask = (method, path, body) =>
  new Promise((resolve, reject) => {
    networks++;
    const begun = performance.now();
    const headers = { 'X-Forwarded-For': `10.${networks >> 16}.${(networks >> 8) & 255}.${networks & 255}` };
    if (body) headers['Content-Type'] = 'application/json';
    const request = http.request({ port, host: '127.0.0.1', method, path, agent, headers }, (answer) => {
      let text = '';
      answer.on('data', (part) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode, text, time: performance.now() - begun }));
    });
    request.on('error', reject);
    request.end(body && JSON.stringify(body));
  });
const login = (email) => ask('POST', '/api/auth/login', { email, password: 'Wrong-Horse-1!' });
const at = (times, part) => [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))];
const rounded = (number) => Math.round(number * 1000) / 1000;
const kinds = (answers) => [...new Set(answers.map((it) => it.status))].sort().join(' ');
const masked = ({ text }) => JSON.stringify({ ...JSON.parse(text), request_id: '', timestamp: '' });

const alone = [];
for (let i = 0; i < 5; i++) alone.push((await login(address)).time);

let left = logins;
const flood = Array.from({ length: logins }, () => login(address).finally(() => left--));
const health = [];
while (left > 0) health.push(await ask('GET', '/health'));
const answers = await Promise.all(flood);

const compared = [];
const ratios = [];
for (let i = 0; i < pairs; i++) {
  const unknown = `nobody.${i}.${process.pid}@example.com`;
  let [one, other] = [];
  // Who comes first takes turns.
  if (i % 2) [one, other] = [await login(unknown), await login(address)];
  else [other, one] = [await login(address), await login(unknown)];
  compared.push(one, other);
  ratios.push(one.time / other.time);
}

const ratio = at(ratios, 0.5);
console.log(
  JSON.stringify({
    alone: rounded(at(alone, 0.5)),
    logins: { statuses: kinds(answers) },
    health: {
      statuses: kinds(health),
      answers: health.length,
      median: rounded(at(health.map((it) => it.time), 0.5)),
      p95: rounded(at(health.map((it) => it.time), 0.95)),
      in_logins: rounded(at(health.map((it) => it.time), 0.5) / at(alone, 0.5)),
    },
    pairs: {
      statuses: kinds(compared),
      alike: new Set(compared.map(masked)).size === 1,
      ratio: rounded(ratio),
      inverse: rounded(1 / ratio),
    },
  }),
);
process.exit(0);
