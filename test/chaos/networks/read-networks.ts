import { joinsThreads } from '../plan/platforms.ts';
import { labelsIn, type Label } from '../plan/texts.ts';
import type { ChaosChannel } from './connect-channels.ts';
import type { Listed, ListedFile } from './read-accounts.ts';

/** A part of a post as its network shows it to anybody. */
export type Found = Label & {
  /** Number of the channel. */
  readonly channel: number;
  readonly id: string;
  readonly url: string;
  /** Of the post that it continues. */
  readonly parentId: string | null;
  /** Where all parts are in one post, those of all are of the first. */
  readonly files: readonly ListedFile[];
};

/** All that is on the accounts of the run. */
export async function readNetworks(
  channels: readonly Pick<ChaosChannel, 'platform' | 'read'>[],
): Promise<Found[]> {
  const found: Found[] = [];
  for (const [channel, { platform, read }] of channels.entries()) {
    const partsOf = joinsThreads(platform) ? partsInOne : onlyPart;
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

/** Each text of the post continues the one before it, if that is the part before. */
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
