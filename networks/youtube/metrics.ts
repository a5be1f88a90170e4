import { anything, having, listOf, mayHave, type Value } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { Access } from '../client.ts';
import { countIn, readingOf } from '../metrics.ts';
import type { MetricsReader } from '../network.ts';
import { ask, idSchema, reading } from './client.ts';
import { mostVideos, videosWith } from './videos.ts';

/** Source: https://developers.google.com/youtube/v3/docs/videos/list (`statistics`) */
export const metrics: MetricsReader = {
  batchSize: mostVideos,
  readsPerMonth: null,
  async read(connection, remoteIds) {
    const videos = await videosWith(connection, remoteIds, 'statistics', 'prepare');
    const readings = new Map(
      videos.flatMap(({ id, statistics }) =>
        statistics && remoteIds.includes(id)
          ? [[id, readingOf(statistics, fields, numberIn)] as const]
          : [],
      ),
    );
    const missing = remoteIds.filter((id) => !videos.some((video) => video.id === id));
    for (const id of await goneOf(connection, connection.remoteId, missing)) {
      readings.set(id, { kind: 'gone' });
    }

    return readings;
  },
  async followers(connection) {
    const own = await ownChannel(connection, connection.remoteId, 'statistics');
    const { subscriberCount, hiddenSubscriberCount } = own?.statistics ?? {};
    return hiddenSubscriberCount === true ? null : (numberIn(subscriberCount) ?? null);
  },
};

const fields = { likes: 'likeCount', comments: 'commentCount' };

/** YouTube sends counts as decimal strings. */
const numberIn = (value: unknown): number | undefined =>
  typeof value === 'string' && /^\d{1,15}$/v.test(value) ? countIn(Number(value)) : undefined;

/**
 * The missing videos that are gone. They are requested again after checking that the token belongs to their channel:
 * another token does not see private videos.
 */
async function goneOf(
  access: Access,
  channelId: string,
  missing: readonly string[],
): Promise<readonly string[]> {
  if (missing.length === 0) {
    return [];
  }

  try {
    if (!(await ownChannel(access, channelId, 'id'))) {
      return [];
    }
    const there = await videosWith(access, missing, 'id', 'prepare');
    return missing.filter((id) => !there.some((video) => video.id === id));
  } catch {
    return []; // The other readings count; these are repeated with the next batch.
  }
}

const channelSchema = having(
  { id: idSchema },
  { statistics: mayHave({ subscriberCount: anything, hiddenSubscriberCount: anything }) },
);

type OwnChannel = Value<typeof channelSchema>;

const readChannels = answerReader(mayHave({ items: listOf(channelSchema, 50) }));

/** The connected channel, if the token belongs to it. @param part The part to read: `statistics`. */
async function ownChannel(
  access: Access,
  channelId: string,
  part: string,
): Promise<OwnChannel | undefined> {
  const request = reading('channels', { part, mine: 'true' }, 'prepare', 'account');
  const { items = [] } = await ask(access, request, readChannels);
  return items.find(({ id }) => id === channelId);
}
