// Prints as many free TCP ports as asked for, one a line.
// They lie below the range from which systems take the ports of outgoing connections, so that a service can be
// stopped and started again on its port without finding it taken.
import { createServer } from 'node:net';

const wanted = Number(process.argv[2] ?? 1);
const free = (port) =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });

const found = new Set();
for (let tries = 0; found.size < wanted && tries < 2000; tries++) {
  const port = 12000 + Math.floor(Math.random() * 20000);
  if (!found.has(port) && (await free(port))) found.add(port);
}
if (found.size < wanted) {
  console.error('no free port found');
  process.exit(1);
}
console.log([...found].join('\n'));
