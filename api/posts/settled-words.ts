import type { LedgerView } from './settle-ledger.ts';

/** What is said of a channel that does not have its post, or not all of it. */
export function absentSentence({ all, sent }: LedgerView): string {
  if (sent.length === 0) {
    return 'Somebody looked, and the network does not have this post; a retry sends it.';
  }

  return `Somebody looked, and the network has only ${sent.length} of ${all.length} parts; a retry sends the others.${links(sent.map(({ url }) => url))}`;
}

/** @param url Where the part is that was in doubt. */
export function shortThreadSentence({ all, sent, missing }: LedgerView, url: string): string {
  const urls = [...sent.map((part) => part.url), url];
  return `Somebody looked, and the network has ${all.length - missing.length} of ${all.length} parts; a retry sends the others.${links(urls)}`;
}

const links = (urls: readonly (string | null)[]): string => {
  const known = urls.filter((url) => url !== null);
  return known.length === 0 ? '' : ` Live: ${known.join(' ')}`;
};
