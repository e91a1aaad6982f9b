// compare.mjs OUR-PORT PEER-PORT SEED ROUTE…: sends the same schedule to both and prints every difference.
//
// Both decide by the clock, and no two requests arrive at one moment. So each moment of a schedule is chosen where the
// algorithm answers the same a little earlier and a little later; a model of it serves for that and judges nobody. An
// answer that came later than that little does not count: what is left of the schedule is another client's.
import { Agent, request } from 'node:http';

const [ourPort, peerPort, seed, ...routes] = process.argv.slice(2);
const CLIENTS = 8; // of each route
const HITS = 24; // of each client
const SLACK = 70; // ms on both sides of a moment
const TRIES = 100; // schedules that one client's hits may be spread over

// mulberry32: schedules that a seed repeats.
let state = Number(seed) >>> 0;
const random = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

const policyOf = (route) => {
  const [name, ...numbers] = route.slice(1).split('-');
  const [quota, window, cost] = numbers.map(Number);
  return { route, name, quota, window, cost };
};

// Two windows of the epoch, in milliseconds: [index, current, previous].
const model = ({ quota, window, cost }, held, now) => {
  const index = Math.floor(now / window);
  const elapsed = now - index * window;
  const [current, previous] =
    held[0] === index ? [held[1], held[2]] : held[0] === index - 1 ? [0, held[1]] : [0, 0];
  const fading = (previous * (window - elapsed)) / window;
  const admitted = fading + current + cost <= quota;
  const count = current + (admitted ? cost : 0);
  const remaining = Math.max(0, Math.floor(quota - fading - count));
  const until = (wanted) =>
    count + wanted <= quota
      ? window - elapsed - ((quota - count - wanted) * window) / Math.max(previous, 1)
      : window - elapsed + window * (1 - (quota - wanted) / count);
  const left = Math.ceil((remaining > 0 ? window - elapsed : until(1)) / 1000);
  const wait = admitted ? 0 : Math.ceil(until(cost) / 1000);
  return { held: [index, count, previous], facts: [index, admitted, remaining, left, wait].join() };
};

// Moments from `start` on at which the answer does not hang on some milliseconds.
const schedule = (policy, start, hits) => {
  const moments = [];
  let [now, held] = [start, [0, 0, 0]];
  while (moments.length < hits) {
    // Bursts, and pauses up to two windows.
    now += SLACK * 2 + (random() < 0.6 ? 0 : random() * policy.window * (random() < 0.2 ? 2 : 0.6));
    while (!settled(policy, held, now)) now += 7;
    ({ held } = model(policy, held, now));
    moments.push(now);
  }
  return moments;
};

const settled = (policy, held, now) => {
  const { facts } = model(policy, held, now);
  for (let off = -SLACK; off <= SLACK; off += 5) if (model(policy, held, now + off).facts !== facts) return false;
  return true;
};

const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const ask = (port, path, client) =>
  new Promise((resolve, reject) => {
    const sent = request({ agent, port, path, host: '127.0.0.1', headers: { 'X-Forwarded-For': client } }, (answer) => {
      answer.resume();
      answer.on('end', () =>
        resolve({
          status: answer.statusCode,
          standing: answer.headers.ratelimit,
          policy: answer.headers['ratelimit-policy'],
          wait: answer.headers['retry-after'],
          at: Date.now(),
        }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });

const sleepUntil = (moment) => new Promise((resolve) => setTimeout(resolve, Math.max(0, moment - Date.now())));

// Both refuse a hit of more than one unit with the same wait.
const bothRefused = (policy, ours, peer) =>
  policy.cost > 1 && ours.status === 429 && peer.status === 429 && ours.wait === peer.wait && ours.policy === peer.policy;

// What is different on purpose, each with its section in docs/limits.md.
const EXPLAINED = [
  {
    name: 'the `t` of a refused request that costs more than one',
    // Ours is the wait for this very request, as in Retry-After; theirs is when one unit fits or the window ends.
    holds: (policy, ours, peer) =>
      bothRefused(policy, ours, peer) &&
      ours.standing.split(';t=')[0] === peer.standing.split(';t=')[0] &&
      ours.standing.split(';t=')[1] === ours.wait,
  },
  {
    name: 'a repeated refusal that costs more than one says `r=0` while a unit is back',
    // Remembered by the process for at most a second; admissions and waits do not change by it.
    holds: (policy, ours, peer) =>
      bothRefused(policy, ours, peer) &&
      /;r=0;t=/.test(ours.standing) &&
      Number(peer.standing.match(/;r=(\d+);/)[1]) < policy.cost &&
      ours.standing.split(';t=')[1] === ours.wait,
  },
];

let [clients, compared, admitted, refused, late, unexplained] = [0, 0, 0, 0, 0, 0];
const explained = EXPLAINED.map(() => 0);

const judge = (policy, hit, ours, peer) => {
  compared += 1;
  if (ours.status === 200) admitted += 1;
  else refused += 1;
  const fields = ['status', 'standing', 'policy', 'wait'].filter((field) => ours[field] !== peer[field]);
  if (fields.length === 0) return;
  const reason = EXPLAINED.findIndex(({ holds }) => holds(policy, ours, peer));
  const tell = (one) => fields.map((field) => `${field} ${one[field]}`).join(', ');
  console.log(
    `${policy.route} hit ${hit}: ours ${tell(ours)}; peer ${tell(peer)}` +
      (reason < 0 ? '  UNEXPLAINED' : `  (${EXPLAINED[reason].name})`),
  );
  if (reason < 0) unexplained += 1;
  else explained[reason] += 1;
};

const run = async (policy) => {
  let done = 0;
  for (let tries = 0; done < HITS; tries += 1) {
    if (tries === TRIES) throw new Error('this machine is too busy: requests are answered too late to be compared');
    const client = `24.1.${clients >> 8}.${clients & 255}`;
    clients += 1;
    // The first moment is far enough ahead to be met.
    for (const [hit, moment] of schedule(policy, Date.now() + 300, HITS - done).entries()) {
      await sleepUntil(moment);
      const pair = await Promise.all([ask(ourPort, policy.route, client), ask(peerPort, policy.route, client)]);
      if (pair.some(({ at }) => at > moment + SLACK)) {
        late += 1;
        break;
      }
      judge(policy, hit, ...pair);
      done += 1;
    }
  }
};

await Promise.all(routes.map(policyOf).flatMap((policy) => Array.from({ length: CLIENTS }, () => run(policy))));
agent.destroy();
console.log(`${compared} pairs compared (${admitted} admitted, ${refused} refused), seed ${seed}; ${late} schedules cut short`);
EXPLAINED.forEach(({ name }, index) => console.log(`explained: ${name}: ${explained[index]}`));
console.log(`unexplained: ${unexplained}`);
// A run that saw only one of both proves nothing.
process.exitCode = unexplained === 0 && admitted > 0 && refused > 0 ? 0 : 1;
