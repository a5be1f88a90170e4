import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/client.ts';
import { callUntilAnswered } from './parts/calls.ts';

/** What `GET /analytics` said of a post on a channel, whenever it said something new. */
export type SeenFigures = {
  readonly postId: string;
  readonly channelId: string;
  readonly metrics: Readonly<Record<string, number>>;
  readonly updatedAtMs: number;
  /** When it was asked for and had been answered, in milliseconds since 1970. */
  readonly askedAtMs: number;
  readonly seenAtMs: number;
};

/** Sums that are told beside the posts that they are the sums of. */
export type SeenTotals = Readonly<Record<(typeof summed)[number], number>>;
export const summed = ['posts', 'likes', 'comments', 'shares', 'saves'] as const;

export type FiguresEvidence = {
  readonly seen: readonly SeenFigures[];
  /** At the end: as the API sums up, and as its list does. */
  readonly totals: SeenTotals;
  readonly listed: SeenTotals;
};

const everyMs = 2000;
const pageSize = 100;

type ListedChannel = {
  readonly channel_id: string;
  readonly metrics: Readonly<Record<string, number>> | null;
  readonly metrics_updated_at: string | null;
};
type Listed = { readonly post_id: string; readonly channels: readonly ListedChannel[] };
type Page = {
  readonly totals: SeenTotals;
  readonly posts: readonly Listed[];
  readonly has_more: boolean;
};

/**
 * Asks for figures as a program with a page of statistics does, all the while: has some posts refreshed, and lists them.
 *
 * @returns what ends that, and tells what was seen.
 */
export function watchFigures(client: Client): () => Promise<FiguresEvidence> {
  const seen: SeenFigures[] = [];
  const newest = new Map<string, string>();
  const over = new AbortController();
  const look = async (): Promise<void> => {
    const askedAtMs = Date.now();
    const { posts } = await read(client, 0);
    for (const { post_id: postId, channels } of posts) {
      for (const { channel_id: channelId, metrics, metrics_updated_at: at } of channels) {
        const key = `${postId} ${channelId}`;
        const said = JSON.stringify([metrics, at]);
        if (metrics !== null && at !== null && newest.get(key) !== said) {
          newest.set(key, said);
          const updatedAtMs = Date.parse(at);
          const seenAtMs = Date.now();
          seen.push({ postId, channelId, metrics, updatedAtMs, askedAtMs, seenAtMs });
        }
      }
    }

    // By chance, so that most are read, and some again.
    for (const { post_id: id } of shuffled(posts).slice(0, 6)) {
      // A post that a restore took away is 404.
      await callUntilAnswered(() => client.post('/analytics/refresh', { post_id: id }));
    }
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      await look();
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  watching.catch(() => undefined); // Told when it is ended.
  return async () => {
    over.abort();
    await watching;
    return { seen, ...(await sumUp(client)) };
  };
}

const shuffled = <T>(all: readonly T[]): T[] =>
  all
    .map((each) => ({ each, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ each }) => each);

async function read(client: Client, offset: number): Promise<Page> {
  const path = `/analytics?limit=${pageSize}&offset=${offset}`;
  return (await callUntilAnswered(() => client.get(path))).reply.body;
}

/** When nothing is read any more, it is the same before and after the pages. */
async function sumUp(client: Client): Promise<Omit<FiguresEvidence, 'seen'>> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { totals: before } = await read(client, 0);
    const listed = { posts: 0, likes: 0, comments: 0, shares: 0, saves: 0 };
    let page: Page | null = null;
    for (let offset = 0; page === null || page.has_more; offset += pageSize) {
      page = await read(client, offset);
      addPage(listed, page);
    }

    const { totals } = await read(client, 0);
    if (JSON.stringify(totals) === JSON.stringify(before)) {
      return { totals, listed };
    }

    await sleep(1000);
  }

  throw new Error('The figures did not come to rest.');
}

function addPage(listed: Record<(typeof summed)[number], number>, { posts }: Page): void {
  listed.posts += posts.length;
  for (const { metrics } of posts.flatMap(({ channels }) => channels)) {
    for (const name of summed) {
      listed[name] += name === 'posts' ? 0 : (metrics?.[name] ?? 0);
    }
  }
}
