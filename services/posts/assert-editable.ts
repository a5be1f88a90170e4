import type { WholePost } from '../../db/repositories/posts.ts';
import { AppError } from '../../domain/errors.ts';
import { settleFirst } from './choose-channels.ts';

/** @throws AppError `post_not_editable`, which names the next step. */
export function assertEditable(whole: WholePost): void {
  const { id, status } = whole.post;
  if (status !== 'draft' && status !== 'scheduled') {
    // A copy of a post that is still going out would be published beside it.
    const next =
      status === 'publishing'
        ? `POST /posts/${id}/cancel makes it a draft, except for channels that are being sent.`
        : copyOf(whole);
    const message = `The post is ${status}; only a draft or a scheduled post can be changed. ${next}`;
    throw new AppError('post_not_editable', message);
  }
}

/** The call that copies an ended post to no channel that has it. */
function copyOf({ post: { id }, channels }: WholePost): string {
  const unconfirmed = channels.filter(({ row }) => row.status === 'unconfirmed');
  const failed = channels.filter(({ row }) => row.status === 'failed');
  if (unconfirmed.length > 0) {
    return settleFirst(id, unconfirmed);
  }

  return failed.length > 0 && failed.length < channels.length
    ? `POST /posts/${id}/copy with {"only": "failed"} makes a draft for the channels that failed; the others have the post.`
    : `POST /posts/${id}/copy makes a draft of it.`;
}
