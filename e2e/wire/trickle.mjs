// Opens many sockets that never finish their request's header and measures how long the server bears with each.
// Meanwhile it asks for /health. Prints JSON: {"sockets", "left_open", "longest", "statuses", "health", "slowest_health"},
// times in seconds.
//
//   node trickle.mjs PORT SOCKETS PATIENCE
//
// A third send one header byte per second, a third a request line and then nothing, a third nothing at all.
import http from 'node:http';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

const [port, sockets, patience] = process.argv.slice(2).map(Number);
const started = performance.now();
const elapsed = () => (performance.now() - started) / 1000;
const statuses = new Set();
let open = 0;
let longest = 0;

const held = Array.from({ length: sockets }, (_, i) => {
  open++;
  const socket = connect(port, '127.0.0.1');
  let drip;
  socket.on('connect', () => {
    if (i % 3 === 2) return;
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    if (i % 3 === 0) drip = setInterval(() => socket.write('a'), 1000);
  });
  socket.on('data', (data) => statuses.add(/^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? 'other'));
  socket.on('error', () => {});
  socket.on('close', () => {
    clearInterval(drip);
    open--;
    longest = Math.max(longest, elapsed());
  });
  return socket;
});

const health = new Set();
let slowest = 0;
const ask = () =>
  new Promise((resolve) => {
    const asked = performance.now();
    const done = (status) => {
      health.add(status);
      slowest = Math.max(slowest, (performance.now() - asked) / 1000);
      resolve();
    };
    http
      .get({ port, host: '127.0.0.1', path: '/health', agent: false }, (answer) => {
        answer.resume();
        answer.on('end', () => done(String(answer.statusCode)));
      })
      .on('error', (error) => done(error.code));
  });

while (open > 0 && elapsed() < patience) {
  await ask();
  await wait(250);
}
const rounded = (seconds) => Math.round(seconds * 1000) / 1000;
console.log(
  JSON.stringify({
    sockets,
    left_open: open,
    longest: rounded(longest),
    statuses: [...statuses].sort().join(' '),
    health: [...health].sort().join(' '),
    slowest_health: rounded(slowest),
  }),
);
for (const socket of held) socket.destroy();
process.exit(0);
