import type { AtpAgent } from '@atproto/api';
import type { mastodon } from 'masto';
import type { PlayedServer } from './sandbox-server.ts';

/** A post as its network shows it publicly. */
export type Listed = {
  readonly text: string;
  readonly id: string;
  readonly url: string;
  /** The id of the post that it replies to. */
  readonly parentId: string | null;
  readonly files: readonly ListedFile[];
};

export type ListedFile = { readonly kind: 'video' | 'picture'; readonly altText: string };

export async function readMastodon(
  client: mastodon.rest.Client,
  accountId: string,
): Promise<Listed[]> {
  const { statuses } = client.v1.accounts.$select(accountId);
  const listed: Listed[] = [];
  for (let maxId: string | undefined; ;) {
    const page = await statuses.list({ limit: 40, ...(maxId === undefined ? {} : { maxId }) });
    for (const { id, url, uri, content, inReplyToId, mediaAttachments } of page) {
      const files = mediaAttachments.map(({ type, description }) => ({
        kind: type === 'video' || type === 'gifv' ? ('video' as const) : ('picture' as const),
        altText: description ?? '',
      }));
      listed.push({ id, url: url ?? uri, text: content, parentId: inReplyToId ?? null, files });
    }

    maxId = page.at(-1)?.id;
    if (maxId === undefined) {
      return listed;
    }
  }
}

type PostRecord = {
  readonly text: string;
  readonly reply?: { readonly parent: { uri: string } };
  readonly embed?: {
    readonly video?: object;
    readonly alt?: string;
    readonly images?: readonly { readonly alt: string }[];
  };
};

export async function readBluesky(reader: AtpAgent, did: string): Promise<Listed[]> {
  const collection = 'app.bsky.feed.post';
  const listed: Listed[] = [];
  for (let cursor: string | undefined; ;) {
    const { data } = await reader.com.atproto.repo.listRecords({
      repo: did,
      collection,
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const { uri, value } of data.records) {
      const { text, reply, embed } = value as PostRecord;
      const url = `https://bsky.app/profile/${did}/post/${uri.split('/').at(-1)}`;
      const parentId = reply?.parent.uri ?? null;
      listed.push({ id: uri, url, text, parentId, files: filesIn(embed) });
    }

    cursor = data.cursor;
    if (cursor === undefined || data.records.length === 0) {
      return listed;
    }
  }
}

const filesIn = ({ video, alt = '', images = [] }: PostRecord['embed'] = {}): ListedFile[] => [
  ...(video ? [{ kind: 'video' as const, altText: alt }] : []),
  ...images.map((image) => ({ kind: 'picture' as const, altText: image.alt })),
];

/** @param url The line's address, which is part of the posts' URLs. */
export async function readPlayed(server: PlayedServer, url: string): Promise<Listed[]> {
  const posts = await server.posts();
  return posts.map(({ id, text, replyTo, path, files }) => ({
    id,
    text,
    url: `${url}${path}`,
    parentId: replyTo,
    files: files.map(({ type, altText }) => ({
      kind: type.startsWith('video/') ? ('video' as const) : ('picture' as const),
      altText,
    })),
  }));
}
