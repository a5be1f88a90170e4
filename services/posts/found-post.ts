import type { PostPart } from '../../db/entities/post-channels.ts';
import type { Channel } from '../../db/entities/channels.ts';
import { postAt, type FoundPost } from '../../db/ledger/outcomes.ts';
import type { Em } from '../../db/orm.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import { isSent } from '../../domain/live-parts.ts';
import { addressFault, postAddress } from '../../domain/texts.ts';
import type { ServiceDeps } from '../deps.ts';

// The URL that a person gives for a post.

/** The account, as `PostPages` needs it. */
export type PageOwner = Pick<Channel, 'platform' | 'baseUrl' | 'remoteId' | 'handle' | 'settings'>;

export type KnowsPages = { readonly networks: Pick<ServiceDeps['networks'], 'postPages'> };

/** Normalizes the URL of a post as browsers do. It is shown as a link and never requested. */
export function readUrl(given: string): string {
  const fault = addressFault(given);
  if (fault !== null) {
    throw wrongValue('/url', fault);
  }

  return postAddress(given);
}

/** @param part Of the thread, from 0. */
export function foundAt(
  { postPages }: KnowsPages['networks'],
  channel: PageOwner,
  url: string,
  part: number,
): FoundPost {
  const pages = postPages[channel.platform];
  if (!pages) {
    return { url, remoteId: null };
  }

  const page = pages.idAt(channel, new URL(url), part);
  if (page === null) {
    const what = part > 0 ? `part ${part + 1} of the thread` : 'a post';
    throw wrongValue(
      '/url',
      `must be the address of ${what} of ${channel.handle} on ${channel.platform}, such as ${pages.example(channel, part)}`,
    );
  }

  return { url, remoteId: page.id };
}

/**
 * Refuses the URL of a part of the thread that is known to be live.
 *
 * @param inDoubt The part that is asked for, from 0.
 */
export function assertNotLive(
  parts: readonly PostPart[],
  { url, remoteId }: FoundPost,
  inDoubt: number,
): void {
  const known = parts
    .filter(isSent)
    .find((part) => part.url === url || (remoteId !== null && part.remoteId === remoteId));
  if (known && known.part !== inDoubt) {
    throw wrongValue(
      '/url',
      `is that of part ${known.part + 1} of the thread, which is known to be live. Send the URL of part ${inDoubt + 1}, or null only if part ${inDoubt + 1} is not there`,
    );
  }
}

/**
 * Refuses the URL of another post of the channel.
 *
 * @param em Its transaction holds `lockClaims`, so no concurrent reconcile or settle of the channel interferes.
 */
export async function assertFree(
  em: Em,
  channel: Parameters<typeof postAt>[1],
  found: FoundPost,
): Promise<void> {
  const other = await postAt(em, channel, found);
  if (other !== null) {
    const which = other.id === null ? 'a deleted post' : `post ${other.id}`;
    const message = `This URL already belongs to ${which} of this channel. Send the URL of this post, or null if it is not there.`;
    const details = [{ path: '/url', message }];
    throw new AppError('nothing_to_settle', message, { details });
  }
}
