import test from 'ava';
import { createRefusals } from '../../../api/rate-limits/limiter.ts';
import { NetworkError } from '../../../networks/network.ts';
import type { Connector } from '../../../networks/network-entry.ts';
import { pretendOauth } from '../../support/pretend-oauth.ts';
import { wordsOf } from './person.ts';
import { connectWorld, linkFor, stage } from './world.ts';

let asked = 0;
const connector: Connector = {
  options: { url: { placeholder: 'https://pds.example', required: true } },
  secret: 'app-password',
  summary: 'Connects.',
  connect: async () => {
    asked += 1;
    throw new NetworkError('access_lost', 'The password is wrong.', { accepted: 'no' });
  },
  sandbox: (url) => ({ url, 'app-password': 'demo' }),
};
const world = connectWorld(
  test,
  { rateLimits: { wrongKeys: 3 } },
  {
    oauth: { secretive: pretendOauth({ takesSecret: true }).entry },
    connectors: { secretive: connector } as object,
  },
);

test('after some refused secrets a client is blocked, with every link', async (t) => {
  const { client, browser } = await stage(world);
  const filled = { url: 'https://mine.example', 'app-password': 'wrong' };
  const words: string[] = [];
  for (let number = 1; number <= 5; number += 1) {
    const page = await browser.get(await linkFor(client, { platform: 'secretive' }));
    words.push(wordsOf(await browser.submit(page, 'secret', filled)));
  }

  t.is(asked, 3);
  t.regex(words[2] ?? '', /The password is wrong/v);
  t.regex(words[3] ?? '', /Too many sign-ins were refused\. Try again in 5 minutes/v);
});

test('a server that refused many clients of a workspace is not asked for it for some minutes', async (t) => {
  const refusals = createRefusals(2);
  const at = (server: string, number: number, workspaceId = 'w') => ({
    workspaceId,
    address: `192.0.2.${number}`,
    server,
  });
  for (let number = 1; number <= 20; number += 1) {
    await refusals.count(at('pds.example', number));
  }

  t.true((await refusals.restOf(at('pds.example', 100))) > 200);
  t.is(await refusals.restOf(at('other.example', 100)), 0);
  t.is(await refusals.restOf(at('pds.example', 100, 'other')), 0);
});
