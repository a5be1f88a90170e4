import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import { lockShares } from '../../db/quota-shares.ts';
import { bytesOfText, countPosts } from '../../db/quota-use.ts';
import { roomLeft, useAfter, type PostUse, type Quotas } from '../../domain/quotas.ts';
import type { Caller } from '../http/route.ts';

export type RoomOwner = Pick<Caller, 'workspaceId' | 'quotas'>;

/** How many shares a workspace's room is in: that many posts can be made at the same moment without waiting. */
const shares = 8;

/** A post's share, by its id: a part of it that is random. */
const shareOf = (id: string): string => `get_byte(uuid_send(${id}::uuid), 15) % ${shares}`;

/**
 * Takes room for a change of a post from one share of its workspace: no row when that has too little, or was counted
 * for other quotas. Values by `takingValues`.
 */
export const taking = `update quota_shares set scheduled = scheduled - greatest($3::bigint, 0),
    drafts = drafts - greatest($4::bigint, 0), text_bytes = text_bytes - greatest($5::bigint, 0),
    text_used = text_used + $5::bigint
  where workspace_id = $1::uuid and share = ${shareOf('$2')} and basis = $6::text
    and ($3::bigint <= 0 or scheduled >= $3::bigint) and ($4::bigint <= 0 or drafts >= $4::bigint)
    and ($5::bigint <= 0 or text_bytes >= $5::bigint)
  returning workspace_id`;

/** `$1` to `$6` of `taking`. @param change Negative numbers for what becomes less. */
export const takingValues = (
  { workspaceId, quotas }: RoomOwner,
  postId: string,
  change: PostUse,
): readonly unknown[] => [
  workspaceId,
  postId,
  change.scheduled,
  change.drafts,
  change.text_bytes,
  basisOf(quotas),
];

const basisOf = ({ scheduled, drafts, text_bytes: text }: Quotas): string =>
  `${scheduled} ${drafts} ${text}`;

/** A post's share has too little room, as far as it was counted. See `withRoom`. */
export class RoomIsShort extends Error {
  override readonly name = 'RoomIsShort';
}

/**
 * Runs what takes room: first by what was counted before, and where that does not do once more, from the beginning,
 * with all counted anew. In the same transaction it could not be: PostgreSQL keeps the lock of a row that it waited for
 * also when the row no longer fits, and who has one share's lock must not wait for the others.
 */
export async function withRoom<T>(run: (isCounted: boolean) => Promise<T>): Promise<T> {
  try {
    return await run(false);
  } catch (error) {
    if (error instanceof RoomIsShort) {
      return run(true);
    }

    throw error;
  }
}

/**
 * Takes room for a change of a post, in the transaction that makes it and before its rows change.
 *
 * @param isCounted From `withRoom`.
 * @throws AppError `quota_exceeded`
 */
export async function takeRoom(
  em: Em,
  owner: RoomOwner,
  postId: string,
  change: PostUse,
  isCounted: boolean,
): Promise<void> {
  if (change.scheduled === 0 && change.drafts === 0 && change.text_bytes === 0) {
    return;
  }

  if (isCounted) {
    await makeRoom(em, owner, postId, change);
  }

  if ((await ask(em, taking, takingValues(owner, postId, change))).length === 0) {
    throw new RoomIsShort();
  }
}

/**
 * Counts what the workspace has, and shares out anew what its quotas leave. The post's own share gets what the change
 * needs beside its part, so that it can be taken in the same transaction.
 *
 * @throws AppError `quota_exceeded` when the change would be too much.
 */
export async function makeRoom(
  em: Em,
  { workspaceId, quotas }: RoomOwner,
  postId: string,
  change: PostUse,
): Promise<void> {
  await ask(em, firstShares, [workspaceId, shares]);
  const text = (await lockShares(em, workspaceId)) ?? 0;
  // A statement of its own: it sees what was committed while we waited for the locks.
  const use = { ...(await countPosts(em, workspaceId)), text_bytes: text };
  const left = roomLeft(quotas, useAfter(quotas, use, change));
  const part = (room: number): number => Math.max(0, Math.floor(room / shares));
  await ask(em, sharing, [
    workspaceId,
    postId,
    basisOf(quotas),
    part(left.scheduled),
    part(left.drafts),
    part(left.text_bytes),
    Math.max(0, change.scheduled),
    Math.max(0, change.drafts),
    Math.max(0, change.text_bytes),
  ]);
}

const firstShares = `insert into quota_shares (workspace_id, share, basis, scheduled, drafts, text_bytes, text_used)
  select $1::uuid, n, '', 0, 0, 0, case when n = 0 then (${bytesOfText}) else 0 end
  from generate_series(0, $2::int - 1) n
  where not exists (select from quota_shares where workspace_id = $1)
  order by n on conflict do nothing`;

const sharing = `update quota_shares set basis = $3,
    scheduled = $4::bigint + case when share = ${shareOf('$2')} then $7::bigint else 0 end,
    drafts = $5::bigint + case when share = ${shareOf('$2')} then $8::bigint else 0 end,
    text_bytes = $6::bigint + case when share = ${shareOf('$2')} then $9::bigint else 0 end
  where workspace_id = $1::uuid`;
