import { textsForChannel } from '../../../domain/parts.ts';
import type { PublishStep } from '../../../networks/network.ts';
import type { PostRow } from './check-post.ts';
import type { Simulation } from './simulation.ts';

/** The texts that an attempt may send, by network; null when it may send none. */
export type ExpectedTexts = ReadonlyMap<string, readonly string[]> | null;

/** @returns the texts that an attempt of this post may send if it begins now. */
export async function expectedTexts(
  { steps }: Simulation,
  post: string,
  { status }: PostRow,
): Promise<ExpectedTexts> {
  if (status !== 'publishing') {
    return null;
  }

  const rows = await steps.deps.orm.em
    .fork()
    .execute<{ platform: string; override: string; body: string; thread: string[] }[]>(
      `select c.platform, pc.body as override, p.body, p.thread
       from post_channels pc join posts p on p.id = pc.post_id join channels c on c.id = pc.channel_id
       where p.id = ?`,
      [post],
    );
  return new Map(rows.map((row) => [row.platform, textsForChannel(row, row.override, true)]));
}

/** @returns the faults of a send. */
export function sendFaults(may: ExpectedTexts, network: string, { parts }: PublishStep): string[] {
  const wanted = may?.get(network);
  return parts.flatMap(({ key, text }) =>
    wanted?.[Number(key.split('-').at(-1))] === text
      ? []
      : [`${network} is sent "${text}" instead of "${String(wanted)}".`],
  );
}

/** Checks each newly published channel that had no open part: the post's exact parts are live. */
export function publishedFaults(
  { networks }: Simulation,
  may: ExpectedTexts,
  was: PostRow,
  is: PostRow,
): string[] {
  return is.channels.flatMap(({ platform, status }) => {
    const before = was.channels.find((channel) => channel.platform === platform);
    if (status !== 'published' || before?.status === 'published' || before?.open !== 0) {
      return [];
    }

    const live = (networks[platform]?.live ?? []).toSorted((a, b) => a.part - b.part);
    const actual = live.map(({ text }) => text).join(' ');
    const wanted = may?.get(platform)?.join(' ');
    return actual === wanted ? [] : [`${platform} says "${actual}" instead of "${wanted}".`];
  });
}
