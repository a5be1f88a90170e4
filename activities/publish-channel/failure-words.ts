import { type ChannelErrorCode, adviceInDoubt, finalAdvice } from '../../domain/channel-error.ts';
import { isOpen, type Entry } from './ledger.ts';

// What a post's owner reads of a try that failed.

/** Says which part of a thread it was, and where those before it are. */
export function describe(message: string, entries: readonly Entry[]): string {
  const live = entries.flatMap(({ sent }) => (sent === null ? [] : [sent.url]));
  if (live.length === 0) {
    return message;
  }

  const what = entries.some(isOpen) ? 'is in doubt' : 'did not go out';
  return `Part ${live.length + 1} of ${entries.length} ${what}: ${message} (The part${live.length > 1 ? 's' : ''} before it: ${live.join(' ')})`;
}

/** Nobody knows yet whether the network has it. @param atMs When it is asked again. */
export const inDoubt = (message: string, code: ChannelErrorCode, atMs: number): string =>
  `The network was asked to publish, and whether it has the post is not known yet. (${message}) ${code === 'access_lost' ? 'Connect the channel again. ' : ''}${adviceInDoubt(atMs)}`;

/** Nobody will find out any more but a person. */
export const unconfirmed = (message: string): string =>
  `The network may or may not have this post: it was asked to publish, and what became of that could not be found out. (${message}) ${finalAdvice.unconfirmed}`;
