// Sends an empty login from each of very many clients, as a trusted proxy would report them, over a few connections.
// Prints the statuses with their counts: `200000x422`.
//
//   node clients.mjs PORT CLIENTS ROUND
//
// The clients of another round are others.
import { connect } from 'node:net';

const [port, clients, round] = process.argv.slice(2).map(Number);
const CONNECTIONS = 8;
const AT_ONCE = 64; // requests on their way on one connection
const counts = new Map();

const request = (client) =>
  'POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n' +
  `X-Forwarded-For: ${round}.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}\r\n\r\n{}`;

const run = (first, step) =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let next = first;
    let open = 0;
    let rest = '';
    const fill = () => {
      let text = '';
      for (; open < AT_ONCE && next < clients; next += step, open++) text += request(next);
      if (text) socket.write(text);
      else if (open === 0) socket.end(resolve);
    };
    socket.setEncoding('latin1');
    socket.on('connect', fill);
    socket.on('error', reject);
    socket.on('close', () => (open > 0 ? reject(new Error('closed early')) : resolve()));
    socket.on('data', (data) => {
      const text = rest + data;
      let end = 0;
      for (const found of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        counts.set(found[1], (counts.get(found[1]) ?? 0) + 1);
        open--;
        end = found.index + found[0].length;
      }
      // A status line may be cut in two: what follows the last whole one is looked at again.
      rest = text.slice(Math.max(end, text.length - 12));
      fill();
    });
  });

await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => run(i, CONNECTIONS)));
console.log([...counts].map(([status, count]) => `${count}x${status}`).join(' '));
