import { jsonOf } from '../answer.ts';
import type { PreparedPart, SentPart } from '../network.ts';
import { readStatus, type Status } from './answers.ts';
import { create, type Access } from './client.ts';
import { refusal, unreadable } from './errors.ts';

/**
 * Creates one status. Must not be repeated on its own: only Mastodon heeds the key, for about an hour.
 *
 * @param mediaIds Of files that were uploaded for it.
 * @throws NetworkError
 */
export async function createStatus(
  access: Access,
  part: PreparedPart,
  parent: SentPart | undefined,
  mediaIds: readonly string[],
): Promise<SentPart> {
  const response = await create(access, '/api/v1/statuses', part.key, {
    status: part.text,
    visibility: 'public',
    ...(mediaIds.length > 0 && { media_ids: mediaIds }),
    ...(parent && { in_reply_to_id: parent.remoteId }),
  });
  if (response.status !== 200) {
    throw refusal(response, {
      purpose: 'create',
      accessToken: access.accessToken,
      isReply: parent !== undefined,
    });
  }

  const status = readStatus(jsonOf(response));
  if (!status) {
    throw unreadable('create');
  }
  return sentPartOf(status);
}

export const sentPartOf = (status: Status): SentPart => ({
  remoteId: status.id,
  url: status.url ?? status.uri,
});
