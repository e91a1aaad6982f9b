// The service itself, in a folder of its own, as `labs-auth dev` with what the journey sets.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';

export async function startServer({ port, folder, variables }) {
  const log = openSync(`${folder}/server.log`, 'w');
  const server = spawn(process.env.E2E_BINARY, ['dev'], {
    cwd: folder,
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, LISTEN_ADDR: `127.0.0.1:${port}`, ...variables },
  });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const health = `http://127.0.0.1:${port}/health`;
  for (const end = Date.now() + 30_000; ; ) {
    const answers = await fetch(health).then((reply) => reply.ok, () => false);
    if (answers) break;
    if (server.exitCode !== null || Date.now() > end) throw new Error('the server did not start');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return async () => {
    server.kill('SIGTERM');
    await ended;
  };
}
