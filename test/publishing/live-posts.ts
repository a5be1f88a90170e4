import { AppBskyEmbedImages } from '@atproto/api';
import { blobBytes, recordsOf } from '../networks/bluesky/bench.ts';
import { pixelsOf } from '../networks/files.ts';
import type { BlueskyTestAccount, MastodonTestAccount } from '../support/accounts.ts';

/** The statuses of an account, oldest first, each with its text and the pixels of its pictures. */
export async function statusesOf({ client }: MastodonTestAccount) {
  const me = await client.v1.accounts.verifyCredentials();
  const statuses = await client.v1.accounts.$select(me.id).statuses.list();
  return Promise.all(
    statuses.toReversed().map(async ({ id, url, createdAt, inReplyToId, mediaAttachments }) => ({
      id,
      url,
      createdAt,
      inReplyToId,
      text: (await client.v1.statuses.$select(id).source.fetch()).text,
      pictures: await Promise.all(
        mediaAttachments.map(async (file) => {
          const response = await fetch(file.url ?? '');
          return pixelsOf(Buffer.from(await response.arrayBuffer()));
        }),
      ),
    })),
  );
}

/** The same for the records of a Bluesky account. */
export async function postsOf({ agent }: BlueskyTestAccount) {
  return Promise.all(
    (await recordsOf(agent)).map(async ({ uri, cid, record }) => {
      const images = AppBskyEmbedImages.isMain(record.embed) ? record.embed.images : [];
      const files = await Promise.all(images.map(({ image }) => blobBytes(agent, image)));
      const { text, createdAt, reply } = record;
      return {
        uri,
        cid,
        createdAt,
        reply,
        text,
        pictures: await Promise.all(files.map(pixelsOf)),
      };
    }),
  );
}
