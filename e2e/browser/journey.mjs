// What the journeys share: numbered lines, one service and one Chromium for each, and an end that leaves nothing behind.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { chromium } from 'playwright-core';
import { startServer } from './server.mjs';

// What a journey ends with when Chromium itself fell over, which says nothing about the service.
const CRASHED = 75;
const name = basename(process.argv[1], '.mjs');
let checks = 0;
let failures = 0;

export function check(what, expected, actual) {
  checks += 1;
  const same = JSON.stringify(expected) === JSON.stringify(actual);
  console.log(`${same ? 'ok' : 'not ok'} ${checks} - browser, ${name}: ${what}`);
  if (same) return;
  failures += 1;
  console.log(`#   expected: ${JSON.stringify(expected)}\n#        got: ${JSON.stringify(actual)}`);
}

export function freePorts(count) {
  const printed = execFileSync(process.execPath, [new URL('../ports.mjs', import.meta.url).pathname, String(count)], { encoding: 'utf8' });
  return printed.trim().split('\n').map(Number);
}

/** Waits until `look` returns something, for a bounded time that ends a hopeless wait and expects no speed. */
export async function until(what, look) {
  for (const end = Date.now() + 20_000; ; ) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Starts the service on `port` with `variables`, opens a browser, and walks: `walk({ folder, browser, closing })`. What is
 * pushed to `closing` is called at the end, however that comes.
 */
export async function travel({ port, variables = {} }, walk) {
  const folder = mkdtempSync(`${tmpdir()}/labs-auth-browser.`);
  const closing = [];
  let stopServer;
  let browser;
  let crashed = false;
  try {
    stopServer = await startServer({ port, folder, variables });
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM,
      args: [
        '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
      ],
    });
    await walk({ folder, browser, closing });
  } catch (error) {
    // Its pages end before it is known that all of it has.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    crashed = Boolean(browser) && !browser.isConnected();
    check(`no accident (${error.message.split('\n')[0]})`, 'nothing', error.stack);
  } finally {
    await browser?.close();
    for (const close of closing.reverse()) await close();
    await stopServer?.();
    if (failures > 0) console.log(readFileSync(`${folder}/server.log`, 'utf8').split('\n').slice(-20).map((it) => `#   ${it}`).join('\n'));
    rmSync(folder, { recursive: true, force: true });
  }
  if (crashed) console.log('# the browser ended by itself');
  process.exit(crashed ? CRASHED : failures === 0 ? 0 : 1);
}
