import { AppBskyEmbedImages, AppBskyFeedPost, type AtpAgent, type BlobRef } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { blueskyAccount } from '../../support/accounts.ts';
import { egressTo, openConnection } from '../connection.ts';
import type { Bench, TestAccount } from '../bench.ts';

const collection = 'app.bsky.feed.post';

/** An account of one test, connected by its app password and opened for one attempt. */
export async function connected(t: ExecutionContext) {
  const person = await blueskyAccount();
  const { baseUrl, handle: identifier, appPassword, agent } = person;
  const login = { baseUrl, identifier, appPassword };
  const account = await connectBluesky(egressTo(t, baseUrl), login);
  const records = () => recordsOf(agent);
  return { person, account, records, connection: openConnection(t, account) };
}

/** Bluesky's own PDS, read back with `@atproto/api`. */
export const bench: Bench = {
  network: blueskyNetwork,
  creates: { method: 'POST', path: /^\/xrpc\/com\.atproto\.repo\.applyWrites$/ },
  deletes: { method: 'POST', path: /^\/xrpc\/com\.atproto\.repo\.deleteRecord$/ },
  uploads: { method: 'POST', path: /^\/xrpc\/com\.atproto\.repo\.uploadBlob$/ },
  tooLong: 'x'.repeat(301),
  wrongCredentials: { identifier: 'nobody.test', appPassword: 'aaaa-bbbb-cccc-dddd' },
  options: [
    { chosen: { langs: ['en', 'pt-BR'] }, shown: { langs: ['en', 'pt-BR'] } },
    {
      chosen: { labels: ['graphic-media', 'sexual'] },
      shown: { labels: { values: [{ val: 'graphic-media' }, { val: 'sexual' }] } },
    },
    { chosen: { link_card: false }, shown: { $type: collection } },
  ],
  resetHeaders: (resetAtMs) => ({ 'ratelimit-reset': String(resetAtMs / 1000) }),

  makeAccount: async (t) => testAccountOf(await connected(t)),
};

/** The suite's view of an account, through an independent client. */
export function testAccountOf({
  account,
  person,
}: Pick<Awaited<ReturnType<typeof connected>>, 'account' | 'person'>): TestAccount {
  const { agent } = person;
  const records = () => recordsOf(agent);
  return {
    account,
    posts: async () =>
      (await records()).map(({ uri, record }) => ({
        remoteId: uri,
        text: record.text,
        parentId: record.reply?.parent.uri ?? null,
      })),
    textAt: async (url) => {
      // The page is not on the test's server; it shows the record that its URL names.
      const [, repo = '', rkey = ''] =
        /^https:\/\/bsky\.app\/profile\/([^/]+)\/post\/([^/]+)$/.exec(url) ?? [];
      const key = { repo, collection, rkey };
      const { data } = await agent.com.atproto.repo.getRecord(key);
      return AppBskyFeedPost.isRecord(data.value) ? String(data.value['text']) : '';
    },
    altTextsOf: async (uri) => {
      const { embed } = (await records()).find((record) => record.uri === uri)?.record ?? {};
      return AppBskyEmbedImages.isMain(embed) ? embed.images.map(({ alt }) => alt) : [];
    },
    choicesOf: async (uri) => (await records()).find((found) => found.uri === uri)?.record ?? {},
    filesOf: async (uri) => {
      const { embed } = (await records()).find((record) => record.uri === uri)?.record ?? {};
      const images = AppBskyEmbedImages.isMain(embed) ? embed.images : [];
      return Promise.all(images.map(({ image }) => blobBytes(agent, image)));
    },
  };
}

/** The bytes that the server returns for a blob. */
export async function blobBytes(agent: AtpAgent, { ref }: BlobRef): Promise<Buffer> {
  const { data } = await agent.com.atproto.sync.getBlob({
    did: agent.assertDid,
    cid: ref.toString(),
  });
  return Buffer.from(data);
}

/** The posts of an account, oldest first. */
export async function recordsOf(agent: AtpAgent) {
  const { data } = await agent.com.atproto.repo.listRecords({
    repo: agent.assertDid,
    collection,
    reverse: true,
  });
  return data.records.map(({ uri, cid, value }) => ({
    uri,
    cid,
    record: value as AppBskyFeedPost.Record,
  }));
}
