/**
 * State of a part of a channel's thread in the ledger.
 *
 * - `ready`: nothing was sent, or the send failed; it may be sent.
 * - `sending`: a request may have left. A reconcile comes first.
 * - `doubted`: likewise, and the network does not show its posts. Only sending the part again can tell.
 * - `sent`: the network has it.
 * - `refused`: the network refused it. A later run may send it again.
 */
export type PartState = 'ready' | 'sending' | 'doubted' | 'sent' | 'refused';

type Stated = { readonly state: string };

/** Whether the outcome is unknown: the network may have the part. */
export const isOpen = ({ state }: Stated): boolean => state === 'sending' || state === 'doubted';

export const isSent = ({ state }: Stated): boolean => state === 'sent';

/** Whether the network has or may have the part, so that no other run sends it. */
export const mayBeLive = (part: Stated): boolean => isSent(part) || isOpen(part);

/** Parts count from 0. */
export type Part = {
  readonly part: number;
  readonly run: number;
  readonly state: PartState;
  readonly url: string | null;
};

/** Whether a part is live, and none of the last run is unsent. */
export function isWholeThreadLive(parts: readonly Part[]): boolean {
  const lastRun = Math.max(...parts.map(({ run }) => run));
  return parts.some(isSent) && parts.every((part) => part.run < lastRun || mayBeLive(part));
}

/** The parts that an attempt would see, in order: those of the last run, and earlier ones that are or may be live. */
export function currentParts<Known extends Part>(parts: readonly Known[]): Known[] {
  const lastRun = Math.max(...parts.map(({ run }) => run));
  const rank = (part: Known): number => (isSent(part) ? 2 : isOpen(part) ? 1 : 0);
  const current = new Map<number, Known>();
  const byRun = parts.toSorted((a, b) => a.run - b.run);
  for (const part of byRun.filter((one) => one.run === lastRun || mayBeLive(one))) {
    const known = current.get(part.part);
    if (known === undefined || rank(part) >= rank(known)) {
      current.set(part.part, part);
    }
  }

  return [...current.values()].toSorted((a, b) => a.part - b.part);
}

/** The URLs of these parts that are known, as the end of a sentence. */
export const linksOf = (parts: readonly Pick<Part, 'url'>[]): string =>
  [...new Set(parts.flatMap(({ url }) => url ?? []))].join(' ');
