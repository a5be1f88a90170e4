import type { NextAttempt } from './next-attempt.ts';
import type { PostStatus } from './statuses.ts';

export type FailedAttempt = {
  /** Undefined if the post was deleted. */
  readonly post: PostStatus | undefined;
  /** The network may have a part. */
  readonly isInDoubt: boolean;
  /** The network has a part. */
  readonly isPartLive: boolean;
  /** The next step if the post had not been cancelled. */
  readonly next: NextAttempt;
};

/**
 * The channel's next state. `scheduled`: the post has a new time. `cancelled`: it fails, because the post was
 * cancelled when a part of it was live.
 */
type ChannelFate = 'retry' | 'scheduled' | 'draft' | 'cancelled' | 'unconfirmed' | 'failed';

/** After a cancel nothing more is sent, so another attempt only reconciles what is in doubt. */
export function fateOfChannel({ post, isInDoubt, isPartLive, next }: FailedAttempt): ChannelFate {
  const isDraft = post === 'draft';
  if (next.kind === 'retry' && (post === 'publishing' || (isDraft && isInDoubt))) {
    return 'retry';
  }

  if (post === 'scheduled') {
    return 'scheduled';
  }

  if (isInDoubt) {
    return 'unconfirmed';
  }

  if (isDraft && isPartLive) {
    return 'cancelled';
  }

  return next.kind === 'retry' || next.code === 'cancelled' ? 'draft' : 'failed';
}
