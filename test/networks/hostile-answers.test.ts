import test from 'ava';
import { setImmediate as turn } from 'node:timers/promises';
import { jsonOf } from '../../networks/answer.ts';
import { findOwn } from '../../networks/find-own.ts';
import { sendNetworkRequest } from '../../networks/http.ts';
import { mastodonNetwork } from '../../networks/mastodon/adapter.ts';
import type { Connection, PublishStep } from '../../networks/network.ts';
import type { Egress } from '../../runtime/egress/egress.ts';

test('an answer that takes the parser long is unreadable, and a large page is read', (t) => {
  const read = (text: string) =>
    jsonOf({ status: 200, headers: {}, body: Buffer.from(text), truncated: false });
  const hostile = {
    brackets: '['.repeat(900_000) + ']'.repeat(900_000),
    objects: `${'{"a":'.repeat(65)}0${'}'.repeat(65)}`,
    'empty arrays': `[${'[],'.repeat(600_000)}0]`,
    'different names': `{${Array.from({ length: 100_000 }, (_, n) => `"${n}":0`).join(',')}}`,
    'brackets after texts': String.raw`["\\","\"",${'['.repeat(70)}${']'.repeat(70)}]`,
  };
  for (const [name, text] of Object.entries(hostile)) {
    t.is(read(text), undefined, name);
  }
  const tags = Array.from({ length: 200 }, (_, n) => ({ name: '[{,'.repeat(9), url: `#${n}` }));
  const page = Array.from({ length: 40 }, () => ({ content: '\\"[{'.repeat(5000), tags }));
  t.deepEqual(read(JSON.stringify(page)), page);
});

test('a search of posts ends before the pages of a server fill the memory', async (t) => {
  let pages = 0;
  const page = () => {
    pages += 1;
    const posts = Array.from({ length: 80 }, (_, n) => ({
      id: `${pages}-${n}`,
      content: 'я'.repeat(12_000),
    }));
    return Promise.resolve({ posts, next: pages });
  };
  const search = findOwn(
    { mostPages: 10, tooMany: 'The account has too many posts', page },
    () => [],
  );
  await t.throwsAsync(search, { message: /too many to search/v });
  t.is(pages, 3);
});

test('long answers that come at once are read with other work between them', async (t) => {
  const answer = { status: 200, headers: {}, body: Buffer.alloc(100_000), truncated: false };
  const http = { request: async () => answer } as unknown as Egress;
  const asked = { method: 'GET', path: '/', purpose: 'reconcile' } as const;
  let [turns, isOver] = [0, false];
  const work = () => {
    turns += 1;
    return isOver || setImmediate(work);
  };
  work();
  t.teardown(() => (isOver = true));
  const read = async (workspaceId: string, host: number | string) => {
    const server = { http, baseUrl: `https://${host}.example`, workspaceId };
    await sendNetworkRequest(server, asked, 'The server');
    return turns;
  };
  const ofOne = Array.from({ length: 20 }, (_, host) => read('one', host));
  t.true((await read('another', 'other')) < 10, 'another workspace waits for one answer, not all');
  t.is(new Set(await Promise.all(ofOne)).size, 20);
});

test('a workspace with many lost answers searches for few of them at a time, and delays no other', async (t) => {
  const answer = { status: 200, headers: {}, body: Buffer.from('[]'), truncated: false };
  const held: (() => void)[] = [];
  const search = (workspaceId: string) => {
    const request = async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return answer;
    };
    const connection = {
      http: { request },
      baseUrl: 'https://a.example',
      remoteId: '1',
      workspaceId,
    };
    const access = { credentials: { accessToken: 'x' }, signal: AbortSignal.timeout(60_000) };
    const part = {
      key: 'k',
      text: 'Hi',
      media: [],
      options: {},
      data: { sinceId: '1', mediaCount: 0 },
    };
    return mastodonNetwork.reconcile(
      { ...connection, ...access } as unknown as Connection,
      { parts: [part], sent: [] } as unknown as PublishStep,
    );
  };
  const ofOne = Array.from({ length: 20 }, () => search('one'));
  await turn();
  t.is(held.length, 8);
  const other = search('another');
  await turn();
  t.is(held.length, 9);
  for (const answerOne of held) {
    answerOne(); // Further requests join the list.
    await turn();
  }
  for (const finding of await Promise.all([...ofOne, other])) {
    t.deepEqual(finding, { kind: 'absent' });
  }
});
