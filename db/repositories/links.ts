import { sql } from 'kysely';
import { isUsableKey } from '../audit.ts';
import { ConnectLink, type ConnectStatus } from '../entities/channels.ts';
import type { Em } from '../orm.ts';
import type { Scope } from '../../domain/api-keys.ts';
import { query } from '../query.ts';

type Link = Pick<ConnectLink, 'id' | 'workspaceId'>;

/** SQL: whether a link was made by an operator, or by a key that still exists and has these scopes. */
const may = (...scopes: readonly Scope[]) => sql<boolean>`not exists (select from audit_log made
  where made.object_id = connect_links.id and made.workspace_id = connect_links.workspace_id
    and made.action = 'connect_link.created' and made.actor = 'key'
    and not exists (select from api_keys k where k.id = made.actor_id and ${sql.raw(isUsableKey)}
      and (k.scopes is null or k.scopes @> ${scopes}::text[])
      and (k.channel_ids is null or connect_links.channel_id = any(k.channel_ids))))`;

type LinkChanges = {
  readonly state_hash?: string;
  readonly browser_hash?: string | null;
  readonly redirect_uri?: string | null;
  readonly sealed_flow?: string | null;
  readonly connected_id?: string | null;
  readonly error?: string | null;
  readonly error_code?: string | null;
};

/**
 * The life of a link, by what happens to it:
 *
 * - `begin`: the person leaves for the network, or leaves again. `beginConnecting`
 * - `answer`: the network sends the person back, and this request redeems the answer. `finishConnecting`
 * - `ask`: the network authorized several accounts. `choose`: the person chooses one. `chooseAccount`
 * - `secret`: the person types an app password instead of leaving. `connectWithSecret`
 * - `connect`: the account is stored. `storeAccount`
 * - `fail`: the link ends, because another attempt with it could not succeed. `stopLink`
 * - `reopen`: nothing was connected, and the person may try again. `stopLink`
 *
 * Each move is one compare-and-set on the link's row, so that of concurrent requests only one makes it. A link that has
 * expired moves no more, nor one whose key may no longer make it.
 */
const transitions = {
  begin: { from: ['open', 'authorizing'], to: 'authorizing' },
  answer: { from: ['authorizing'], to: 'redeeming' },
  ask: { from: ['redeeming'], to: 'choosing' },
  choose: { from: ['choosing'], to: 'redeeming' },
  secret: { from: ['open', 'authorizing'], to: 'redeeming' },
  connect: { from: ['redeeming'], to: 'connected' },
  fail: { from: ['redeeming'], to: 'failed' },
  reopen: { from: ['redeeming'], to: 'open' },
} as const satisfies Readonly<
  Record<string, { readonly from: readonly ConnectStatus[]; readonly to: ConnectStatus }>
>;

type Move = {
  readonly link: Link;
  readonly move: keyof typeof transitions;
  /** The expected authorization, when a link may have several. */
  readonly stateHash?: string;
};

/** @returns false when the link is at another step or has ended, or its key may no longer make the move. */
export async function moveLink(
  em: Em,
  { link, move, stateHash }: Move,
  now: Date,
  changes: LinkChanges = {},
): Promise<boolean> {
  const { from, to } = transitions[move];
  const set = Object.entries({ ...changes, status: to });
  const moved = await query(
    em,
    sql`update connect_links set ${sql.join(set.map(([column, value]) => sql`${sql.ref(column)} = ${value}`))}
      where id = ${link.id} and workspace_id = ${link.workspaceId} and status = any(${from}) and expires_at > ${now}
        and ${stateHash === undefined ? sql`true` : sql`state_hash = ${stateHash}`} and ${may('channels')}
      returning id`,
  );
  return moved.length === 1;
}

/** Returns whether a link that connected an account may still send the posts that failed without it. */
export async function maySendPosts(em: Em, { id, workspaceId }: Link, now: Date): Promise<boolean> {
  const links = await query(
    em,
    sql`select from connect_links where id = ${id} and workspace_id = ${workspaceId} and status = 'connected'
      and expires_at > ${now} and ${may('channels', 'posts:publish')}`,
  );
  return links.length === 1;
}

/** Counts an attempt with a link. @returns how many there were; undefined when the link allows no more. */
export async function countTries(
  em: Em,
  { id, workspaceId }: Link,
  most: number,
): Promise<number | undefined> {
  const [row] = await query(
    em,
    sql<{ tries: number }>`update connect_links set refused_secrets = refused_secrets + 1
      where id = ${id} and workspace_id = ${workspaceId} and refused_secrets < ${most}
      returning refused_secrets as tries`,
  );
  return row?.tries;
}

/** Deletes the oldest links of a key above a number. One that is being redeemed stays, unless none may. */
export async function dropLinks(
  em: Em,
  { workspaceId, keyId }: { readonly workspaceId: string; readonly keyId?: string },
  most: number,
): Promise<void> {
  await query(
    em,
    sql`delete from connect_links where workspace_id = ${workspaceId} and id = any(array(
        select l.id from connect_links l
        join audit_log a on a.object_id = l.id and a.workspace_id = l.workspace_id and a.action = 'connect_link.created'
        where l.workspace_id = ${workspaceId} and l.status not in ('connected', 'failed')
          and (l.status <> 'redeeming' or ${most}::int = 0)
          and a.actor_id is not distinct from ${keyId ?? null}::uuid
        order by l.created_at desc, l.id desc offset ${most}))`,
  );
}
