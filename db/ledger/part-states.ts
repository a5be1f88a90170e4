import { sql, type RawBuilder } from 'kysely';

/**
 * - `ready`: nothing was sent, or the send failed; it may be sent.
 * - `sending`: a request may have left. A reconcile comes first.
 * - `doubted`: likewise, and the network does not show its posts. Only sending the part again can tell.
 * - `sent`: the network has it.
 * - `refused`: the network refused it. A later run may send it again.
 */
const partStates = ['ready', 'sending', 'doubted', 'sent', 'refused'] as const;
export type PartState = (typeof partStates)[number];

/** Whether the outcome is unknown: the network may have the part. */
export const isOpen = ({ state }: { readonly state: string }): boolean =>
  state === 'sending' || state === 'doubted';

/** Whether the network has or may have the part, so that no other run sends it. */
export const mayBeLive = (part: { readonly state: string }): boolean =>
  part.state === 'sent' || isOpen(part);

// The same conditions in SQL, for a row of `post_parts` under any alias.

export const openInSql = (alias: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${alias}.state`)} in ('sending', 'doubted')`;

export const mayBeLiveInSql = (alias: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${alias}.state`)} in ('sent', 'sending', 'doubted')`;
