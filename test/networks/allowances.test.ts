import test from 'ava';
import type { Allowance } from '../../networks/content-rules.ts';
import { openNetworks } from '../../networks/registry.ts';

const allowances = async (
  env: Record<string, string> = {},
): Promise<Record<string, Allowance | undefined>> => {
  const networks = Object.entries(await openNetworks(env).load());
  return Object.fromEntries(networks.map(([id, { allowance }]) => [id, allowance]));
};

const part = (kind: 'video' | 'comment', options = {}) => ({ data: { kind, sinceMs: 1 }, options });

test("X and YouTube have an allowance from the operator's settings; 0 turns it off, and other networks have none", async (t) => {
  const { x, youtube, ...others } = await allowances();
  t.like(x, { perDay: 1000, setting: 'PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY' });
  t.like(youtube, { perDay: 5000, setting: 'PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY' });
  t.true(Object.values(others).every((allowance) => allowance === undefined));

  const off = await allowances({
    PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY: '0',
    PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY: '0',
  });
  t.is(off['x'], undefined);
  t.is(off['youtube'], undefined);
  t.throws(() => openNetworks({ PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY: '-1' }), {
    message: /PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY must be a whole number from 0 to /v,
  });
});

test('a video on YouTube costs 100 units, its thumbnail 50 and its first comment 51; a resumed upload costs nothing more', async (t) => {
  const { youtube } = await allowances();
  const thumbnail = { thumbnail: crypto.randomUUID() };
  t.is(youtube?.cost(part('video'), false), 100);
  t.is(youtube?.cost(part('video', thumbnail), false), 150);
  t.is(youtube?.cost(part('video', thumbnail), true), 50);
  t.is(youtube?.cost(part('video'), true), 0);
  t.is(youtube?.cost(part('comment', thumbnail), false), 51);
});
