import type { ChaosChannel } from './parts/accounts.ts';
import type { Networks } from './parts/networks.ts';
import { labelsIn, type Label } from './plan/texts.ts';

/** A post as a network shows it to anybody. */
export type Found = Label & {
  /** Number of the channel. */
  readonly channel: number;
  readonly id: string;
  readonly url: string;
  /** Of the post that it continues. */
  readonly parentId: string | null;
};

type Listed = Omit<Found, keyof Label | 'channel'> & { readonly text: string };

/** All that is on the accounts of the run, by clients that have nothing to do with the product. */
export async function readNetworks(
  networks: Networks,
  channels: readonly ChaosChannel[],
): Promise<Found[]> {
  const found: Found[] = [];
  for (const [channel, { platform, remoteId }] of channels.entries()) {
    const read = platform === 'mastodon' ? readMastodon : readBluesky;
    for (const { text, ...listed } of await read(networks, remoteId)) {
      const [label] = labelsIn(text);
      if (label) {
        found.push({ ...label, ...listed, channel });
      }
    }
  }

  return found;
}

async function readMastodon({ readers }: Networks, accountId: string): Promise<Listed[]> {
  const { statuses } = readers.mastodon.v1.accounts.$select(accountId);
  const listed: Listed[] = [];
  for (let maxId: string | undefined; ;) {
    const page = await statuses.list({ limit: 40, ...(maxId === undefined ? {} : { maxId }) });
    for (const { id, url, uri, content, inReplyToId } of page) {
      listed.push({ id, url: url ?? uri, text: content, parentId: inReplyToId ?? null });
    }

    maxId = page.at(-1)?.id;
    if (maxId === undefined) {
      return listed;
    }
  }
}

type PostRecord = { readonly text: string; readonly reply?: { readonly parent: { uri: string } } };

async function readBluesky({ readers }: Networks, did: string): Promise<Listed[]> {
  const collection = 'app.bsky.feed.post';
  const listed: Listed[] = [];
  for (let cursor: string | undefined; ;) {
    const { data } = await readers.bluesky.com.atproto.repo.listRecords({
      repo: did,
      collection,
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const { uri, value } of data.records) {
      const { text, reply } = value as PostRecord;
      const url = `https://bsky.app/profile/${did}/post/${uri.split('/').at(-1)}`;
      listed.push({ id: uri, url, text, parentId: reply?.parent.uri ?? null });
    }

    cursor = data.cursor;
    if (cursor === undefined || data.records.length === 0) {
      return listed;
    }
  }
}
