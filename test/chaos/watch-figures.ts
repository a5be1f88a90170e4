import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/client.ts';
import { callUntilAnswered } from './parts/calls.ts';

/** A post on a channel in `GET /analytics`, recorded when it changed. */
export type SeenFigures = {
  readonly postId: string;
  readonly channelId: string;
  readonly metrics: Readonly<Record<string, number>>;
  readonly updatedAtMs: number;
  /** When the request was sent and the response arrived, in milliseconds since 1970. */
  readonly askedAtMs: number;
  readonly seenAtMs: number;
};

/** Totals that the API returns with the posts that they sum up; null when no metrics were read. */
export type SeenTotals = Readonly<Record<(typeof summed)[number], number | null>>;
export const summed = ['posts', 'likes', 'comments', 'shares', 'saves'] as const;

export type FiguresEvidence = {
  readonly seen: readonly SeenFigures[];
  /** At the end: the totals of the API, and the sums of its list. */
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
 * Reads metrics all the while, as a client with a statistics page does: refreshes some posts and lists all.
 *
 * @returns a function that stops it and returns the evidence.
 */
export function watchFigures(client: Client): () => Promise<FiguresEvidence> {
  const seen: SeenFigures[] = [];
  const newest = new Map<string, string>();
  const over = new AbortController();
  const poll = async (): Promise<void> => {
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

    // At random, so that most are read, and some again.
    for (const { post_id: id } of shuffled(posts).slice(0, 6)) {
      // Responds 404 for a post that a restore removed.
      await callUntilAnswered(() => client.post('/analytics/refresh', { post_id: id }));
    }
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      await poll();
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  watching.catch(() => undefined); // The error surfaces at the end.
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

/** Sums up the pages once the totals before and after them are equal, since then no read is running. */
async function sumUp(client: Client): Promise<Omit<FiguresEvidence, 'seen'>> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
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

  throw new Error('The metrics did not settle.');
}

function addPage(listed: Record<(typeof summed)[number], number>, { posts }: Page): void {
  listed.posts += posts.length;
  for (const { metrics } of posts.flatMap(({ channels }) => channels)) {
    for (const name of summed) {
      listed[name] += name === 'posts' ? 0 : (metrics?.[name] ?? 0);
    }
  }
}
