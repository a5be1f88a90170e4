import type { Em } from '../../db/orm.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { AppError } from '../../domain/errors.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';

/** A channel that somebody settles. */
export type SettledRow = {
  readonly id: string;
  readonly status: ChannelStatus;
  readonly url: string | null;
  readonly error_code: ChannelErrorCode | null;
  readonly is_settled: boolean;
};

/**
 * A program that lost the answer asks again, and gets it.
 *
 * @param url What it says now.
 * @throws AppError `nothing_to_settle` when nothing was settled, or something else.
 */
export async function mustBeSettledSo(
  em: Em,
  workspaceId: string,
  channel: SettledRow,
  url: string | null,
): Promise<void> {
  const links = channel.is_settled
    ? await em.execute<{ url: string }[]>(
        `select url from post_parts
         where post_channel_id = ? and workspace_id = ? and state = 'sent' and url is not null`,
        [channel.id, workspaceId],
      )
    : [];
  const isLive = url !== null && [channel.url, ...links.map((link) => link.url)].includes(url);
  const isAbsent = url === null && channel.error_code === 'not_published';
  if (!channel.is_settled || !(isLive || isAbsent)) {
    const how = channel.is_settled ? 'was settled already and is' : 'is';
    const what = channel.status === 'draft' ? 'a draft' : channel.status;
    throw new AppError(
      'nothing_to_settle',
      `The channel ${how} ${what}; only an unconfirmed one can be settled.`,
    );
  }
}
