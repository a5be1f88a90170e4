import type { EditPostBody } from '../../../api/posts/schemas.ts';
import { AppError, type ErrorCode } from '../../../domain/errors.ts';
import type { PostStatus } from '../../../domain/post-status.ts';
import type { PostSteps } from '../post-steps.ts';
import type { Random } from './random.ts';

/** What a call may answer to a user who does not look before. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  'post_not_editable',
  'post_not_cancellable',
  'nothing_to_retry',
  'no_channels',
  'invalid_content',
  'invalid_channel_ids',
]);

let texts = 0;

/** A new thread, and such as keep parts of the first one: what is live of it may stay, while the rest is another. */
const threads = (text: string): EditPostBody[] =>
  [0, 1, 2].map((kept) => ({
    thread: [0, 1, 2].map((part) => `${part < kept ? 'first' : text}.${part}`),
  }));

/** A request with a new text, other channels, another time, or some of these. */
export function randomEdit(random: Random, channels: readonly string[]): EditPostBody {
  const text = `t${++texts}`;
  const chosen = channels.filter(() => random.chance(0.6));
  const content = random.pick<EditPostBody>([
    { body: text, thread: null },
    ...threads(text),
    { channel_bodies: Object.fromEntries(chosen.slice(0, 1).map((id) => [id, `${text}!`])) },
    { channel_bodies: null },
  ]);
  const time = random.pick<EditPostBody>([
    { schedule_in_minutes: 0 },
    { schedule_in_minutes: 0 },
    { schedule_in_minutes: random.pick([5, 600]) },
    ...(random.chance(0.4) ? [{ scheduled_at: null }] : []),
  ]);
  return {
    ...(random.chance(0.6) && content),
    ...(random.chance(0.7) && time),
    ...(random.chance(0.2) && { channel_ids: chosen }),
  };
}

/** What mostly leads somewhere. */
const sensible = {
  draft: 'schedule',
  scheduled: 'edit',
  publishing: 'cancel',
  published: 'edit',
  failed: 'retry',
} as const;

/**
 * Does something to a post that its owner could do at any time, mostly something that makes sense.
 *
 * @returns what, and whether it was refused.
 */
export async function actAsUser(
  steps: PostSteps,
  post: string,
  status: PostStatus,
  random: Random,
): Promise<readonly [act: string, refusal: string | null]> {
  const act = random.chance(0.6)
    ? sensible[status]
    : random.pick(['edit', 'cancel', 'retry'] as const);
  const soon = act === 'schedule' ? { schedule_in_minutes: 0 } : {};
  const edit = { ...randomEdit(random, Object.values(steps.channels)), ...soon };
  const acts = {
    edit: () => steps.edit(post, edit),
    schedule: () => steps.edit(post, edit),
    cancel: () => steps.cancel(post),
    retry: () => steps.retry(post),
  };
  const said = act === 'edit' || act === 'schedule' ? `edit ${JSON.stringify(edit)}` : act;
  try {
    await acts[act]();
    return [said, null];
  } catch (error) {
    if (error instanceof AppError && refusals.has(error.code)) {
      return [said, error.code];
    }

    throw error;
  }
}
