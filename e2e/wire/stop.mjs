// Asks a server to stop while it has work in hand: logins whose headers it has read and whose bodies it has yet to
// judge, one request whose header never ends, one whose body never ends, one idle connection.
// Prints JSON: {"complete": N, "statuses": "401", "late": "refused"}.
//
//   node stop.mjs PORT PID LOGINS
//
// `Expect: 100-continue` makes the server say that a request is in hand, so that nothing depends on timing.
import { connect } from 'node:net';

const [port, pid, logins] = process.argv.slice(2).map(Number);
const patience = setTimeout(() => {
  console.error('the server did not do its part in 120 s');
  process.exit(1);
}, 120_000);

const opened = (first) =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(first, () => resolve(socket)));
    socket.setEncoding('latin1');
    socket.once('error', reject);
  });
const until = (socket, pattern) =>
  new Promise((resolve, reject) => {
    let seen = '';
    const ended = () => reject(new Error(`closed after: ${seen}`));
    const listen = (data) => {
      seen += data;
      if (!pattern.test(seen)) return;
      socket.off('data', listen).off('close', ended);
      resolve(seen);
    };
    socket.on('data', listen).on('close', ended);
  });

const body = (i) => JSON.stringify({ email: `nobody.${i}@example.com`, password: 'a wrong password' });
const head = (length) =>
  `POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`;

// The unfinished ones. They may be cut at any time after the signal.
const idle = await opened('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
await until(idle, /healthy/);
const half = await opened(head(2).slice(0, -10));
const stuck = await opened(`${head(1000)}Expect: 100-continue\r\n\r\n`);
await until(stuck, /^HTTP\/1\.1 100/);
for (const socket of [idle, half, stuck]) socket.on('error', () => {}).resume();

const sockets = await Promise.all(
  Array.from({ length: logins }, (_, i) => opened(`${head(Buffer.byteLength(body(i)))}Expect: 100-continue\r\n\r\n`)),
);
await Promise.all(sockets.map((socket) => until(socket, /^HTTP\/1\.1 100[^]*\r\n\r\n$/)));

// Each answer is read to the end that its Content-Length names, or to the close.
const answers = sockets.map(
  (socket) =>
    new Promise((resolve) => {
      let seen = '';
      const judge = () => {
        const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(seen) ?? [];
        const [, length] = /\r\ncontent-length: (\d+)/i.exec(seen) ?? [];
        const start = seen.indexOf('\r\n\r\n') + 4;
        return status && length && start > 3 && seen.length - start >= Number(length) ? status : undefined;
      };
      socket.on('data', (data) => {
        seen += data;
        if (judge()) resolve(judge());
      });
      socket.on('close', () => resolve(judge() ?? 'cut'));
      socket.on('error', () => {});
    }),
);
await Promise.all(sockets.map((socket, i) => new Promise((resolve) => socket.write(body(i), resolve))));
process.kill(pid, 'SIGTERM');

const statuses = await Promise.all(answers);
const late = await new Promise((resolve) => {
  // The listener may still be open for the instant in which the signal travels; ask until it is shut.
  const knock = () =>
    connect(port, '127.0.0.1')
      .once('error', (error) => resolve(error.code === 'ECONNREFUSED' ? 'refused' : error.code))
      .once('connect', function () {
        this.destroy();
        setTimeout(knock, 50);
      });
  knock();
});
clearTimeout(patience);
console.log(
  JSON.stringify({
    complete: statuses.filter((status) => status !== 'cut').length,
    statuses: [...new Set(statuses)].sort().join(' '),
    late,
  }),
);
process.exit(0);
