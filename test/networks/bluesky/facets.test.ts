import { RichText } from '@atproto/api';
import { bluesky } from '../../../networks/bluesky/index.ts';
import { blueskyAccount } from '../../support/accounts.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { needs } from '../../support/needs.ts';
import { openConnection } from '../connection.ts';
import { partsOf, publish } from '../publish.ts';
import { recordsOf } from './bench.ts';
import { connected } from './connected.ts';

const test = needs('pds');

test('links, mentions and tags of a post can be followed, also behind an emoji', async (t) => {
  const { account, person } = await connected(t);
  const friend = await blueskyAccount();
  const text = `👩‍👩‍👧‍👦 hé @${friend.handle} see https://example.com/x?y=1. And example.org #tag`;
  await publish(bluesky, openConnection(t, account), partsOf(text));

  const [post] = await recordsOf(person.agent);
  const { facets = [] } = post?.record ?? {};
  const segments = [...new RichText({ text, facets }).segments()].filter(({ facet }) => facet);
  t.like(segments, [
    { text: `@${friend.handle}`, mention: { did: friend.did } },
    { text: 'https://example.com/x?y=1', link: { uri: 'https://example.com/x?y=1' } },
    { text: 'example.org', link: { uri: 'https://example.org' } },
    { text: '#tag', tag: { tag: 'tag' } },
  ]);
});

test('a handle of nobody and a link to nowhere stay plain text', async (t) => {
  const { account, person } = await connected(t);
  const text = 'Hi @nobody-has-this.test and @nobody.example.com, see https:// and https://[';
  await publish(bluesky, openConnection(t, account), partsOf(text));

  const [post] = await recordsOf(person.agent);
  t.like(post?.record, { text, facets: undefined });
});

test('a thread asks for each handle once', async (t) => {
  const { account, person } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = partsOf(`@${person.handle} one`, `@${person.handle} two`);
  await bluesky.freeze(connection, parts, Date.now());
  t.is(proxy.seen.length, 1);
});

test('while handles cannot be resolved, the post waits instead of losing its mention', async (t) => {
  const { account, person } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan(
    { method: 'GET', path: /resolveHandle/ },
    { kind: 'refused', answer: { status: 503 } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = bluesky.freeze(connection, partsOf(`Hi @${person.handle}`), Date.now());
  t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'no' });
});
