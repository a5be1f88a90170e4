import type { PostInput } from '../../../services/posts/post-request.ts';
import { AppError, type ErrorCode } from '../../../domain/errors.ts';
import type { PostStatus } from '../../../domain/statuses.ts';
import type { PostSteps } from '../post-steps.ts';
import type { Random } from './random.ts';

/** The errors that a user can get who does not check a post's state first. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  'post_not_editable',
  'post_not_cancellable',
  'nothing_to_retry',
  'no_channels',
  'invalid_content',
  'invalid_channel_ids',
]);

let texts = 0;

/** A new thread, and threads that keep the first parts: the live ones may stay while the rest changes. */
const threads = (text: string): PostInput[] =>
  [0, 1, 2].map((kept) => ({
    thread: [0, 1, 2].map((part) => `${part < kept ? 'first' : text}.${part}`),
  }));

/** An edit with a new text, other channels, another time, or several of these. */
export function randomEdit(random: Random, channels: readonly string[]): PostInput {
  const text = `t${++texts}`;
  const chosen = channels.filter(() => random.chance(0.6));
  const content = random.pick<PostInput>([
    { body: text, thread: null },
    ...threads(text),
    { channel_bodies: Object.fromEntries(chosen.slice(0, 1).map((id) => [id, `${text}!`])) },
    { channel_bodies: null },
  ]);
  const time = random.pick<PostInput>([
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

/** The call that mostly succeeds, by status. */
const sensible = {
  draft: 'schedule',
  scheduled: 'edit',
  publishing: 'cancel',
  published: 'edit',
  failed: 'retry',
} as const;

/**
 * Makes a call that a post's owner could make at any time, mostly one that makes sense.
 *
 * @returns the call, and its error if it was refused.
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
  const action = act === 'edit' || act === 'schedule' ? `edit ${JSON.stringify(edit)}` : act;
  try {
    await acts[act]();
    return [action, null];
  } catch (error) {
    if (error instanceof AppError && refusals.has(error.code)) {
      return [action, error.code];
    }

    throw error;
  }
}
