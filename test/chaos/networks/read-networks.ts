import { factsOf } from '../plan/platforms.ts';
import { labelsIn, type Label } from '../plan/texts.ts';
import type { ChaosChannel } from './connect-channels.ts';
import type { Listed, ListedFile } from './read-accounts.ts';

/** A part of a post as its network shows it publicly. */
export type Found = Label & {
  /** The channel's number. */
  readonly channel: number;
  readonly id: string;
  readonly url: string;
  /** The id of the post that it replies to. */
  readonly parentId: string | null;
  /** For a thread in one post, all files belong to the first part. */
  readonly files: readonly ListedFile[];
};

/** Reads all posts of the run's accounts. */
export async function readNetworks(
  channels: readonly Pick<ChaosChannel, 'platform' | 'read'>[],
): Promise<Found[]> {
  const found: Found[] = [];
  for (const [channel, { platform, read }] of channels.entries()) {
    const partsOf = factsOf(platform).joinsThreads ? partsInOne : onlyPart;
    for (const listed of await read()) {
      for (const part of partsOf(listed)) {
        found.push({ ...part, channel });
      }
    }
  }

  return found;
}

type Part = Omit<Found, 'channel'>;

function onlyPart({ text, ...listed }: Listed): Part[] {
  const [label] = labelsIn(text);
  return label ? [{ ...label, ...listed }] : [];
}

/** Splits a post into its parts. A part's parent is the post itself, if the parts are in order. */
export function partsInOne({ text, files, ...listed }: Listed): Part[] {
  const [first, ...later] = labelsIn(text);
  if (!first) {
    return [];
  }

  const parts: Part[] = [{ ...first, ...listed, files }];
  for (const [index, label] of later.entries()) {
    const parentId = label.part === index + 2 ? listed.id : 'another';
    parts.push({ ...label, ...listed, parentId, files: [] });
  }

  return parts;
}
