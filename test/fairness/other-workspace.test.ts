import { setTimeout as sleep } from 'node:timers/promises';
import { seedPosts } from '../../bench/whole/seed-posts.ts';
import { tellPosts } from '../../bench/whole/tell-posts.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';

const test = needs('temporal');

/** Half an hour of posts, as one bulk upload for the same minute has them. */
const crowd = 300;

/** With 50 slots, the crowd takes 12 s at least: whoever comes after it sees a queue. In milliseconds. */
const sendMs = 2000;

test('the post of one workspace does not wait until the many posts of another are out', async (t) => {
  const network = fakeNetwork();
  const began: string[] = [];
  const { send } = network;
  network.send = async (...args) => {
    began.push(args[1].parts[0]?.text.split(' ')[0] ?? '');
    await sleep(sendMs);
    return send(...args);
  };
  const punctual = await startApi(t, { networks: { fake: network } });
  await startWorkers(t, punctual);
  const { orm, deps, temporal } = punctual;
  const seed = (name: string, dueAtMs: readonly number[]) => {
    const plan = { name, platform: 'fake', networkUrl: 'https://fake.example', channels: 30 };
    return seedPosts(deps, plan, dueAtMs);
  };
  const waiting = (): number => crowd - began.filter((name) => name === 'many').length;

  // So long that all are asleep when their time comes; a slow machine takes longer for the first of them too.
  const [first] = await seed('first', [Date.now() + 3_600_000]);
  const startedMs = Date.now();
  await tellPosts(temporal.client, orm, first ? [first] : []);
  const leadMs = Math.min(10_000 + (Date.now() - startedMs) * 60, 60_000);
  const dueMs = Date.now() + leadMs;
  const many = await seed(
    'many',
    Array.from({ length: crowd }, () => dueMs),
  );
  const [single] = await seed('single', [dueMs + 1000]);
  await tellPosts(temporal.client, orm, [...(single ? [single] : []), ...many]);

  await sleep(Math.max(dueMs + 1000 - Date.now(), 0));
  const waitingAtItsTime = waiting();
  await poll(async () => began.includes('single'), Boolean, 60_000);
  const waitingWhenSent = waiting();
  t.log(
    `${waitingAtItsTime} of ${crowd} waited when it was due, ${waitingWhenSent} when it went out`,
  );
  t.true(waitingAtItsTime > crowd / 2, 'there was a crowd to pass');
  t.true(waitingWhenSent > waitingAtItsTime / 2);
});
