import { sql, type RawBuilder } from 'kysely';

/**
 * - `ready`: nothing was sent, or nothing came of it; it may be sent.
 * - `sending`: a request may have left. The network is asked before anything else.
 * - `doubted`: the same, and the network does not show its posts. Only the part sent again can tell.
 * - `sent`: the network has it.
 * - `refused`: the network does not take it. A later run may try again.
 */
const partStates = ['ready', 'sending', 'doubted', 'sent', 'refused'] as const;
export type PartState = (typeof partStates)[number];

/** Whether the network may have the part, and nobody knows. */
export const isOpen = ({ state }: { readonly state: string }): boolean =>
  state === 'sending' || state === 'doubted';

/** Whether the network has the part, or may have it: then no other run sends it. */
export const isOut = (part: { readonly state: string }): boolean =>
  part.state === 'sent' || isOpen(part);

// The same in SQL, of a row of `post_parts` under any alias.

export const openInSql = (alias: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${alias}.state`)} in ('sending', 'doubted')`;

export const outInSql = (alias: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${alias}.state`)} in ('sent', 'sending', 'doubted')`;
