import { AppError } from './errors.ts';

/** What a workspace may have only so much of. */
export const quotaNames = [
  'scheduled',
  'drafts',
  'text_bytes',
  'files',
  'media_bytes',
  'channels',
] as const;
export type QuotaName = (typeof quotaNames)[number];

/** How much of each. */
export type Quotas = Readonly<Record<QuotaName, number>>;

export const isQuotaName = (name: string): name is QuotaName =>
  quotaNames.some((known) => known === name);

const things: Readonly<Record<QuotaName, string>> = {
  scheduled: 'scheduled posts',
  drafts: 'drafts',
  text_bytes: 'bytes of text in its posts',
  files: 'files in its media library',
  media_bytes: 'bytes in its media library',
  channels: 'channels',
};

const waysOut: Readonly<Record<QuotaName, string>> = {
  scheduled: 'There is room again as soon as some of them go out.',
  drafts:
    'Schedule some of them, or change one that is no longer wanted instead of making another.',
  text_bytes: 'Shorten drafts.',
  files: 'Delete files that no post needs: DELETE /media/{id}.',
  media_bytes: 'Delete files that no post needs: DELETE /media/{id}.',
  channels: 'Connecting one of them again is always possible.',
};

/** Without a plan a workspace neither makes posts nor changes or retries them. @throws AppError `plan_required` */
export function assertHasPlan({ plan }: { readonly plan: string | null }): void {
  if (plan === null) {
    throw new AppError('plan_required', 'This workspace has no active plan.');
  }
}

/** The refusal of what would be more than a workspace may have. @param used What it has now, this not counted. */
export function quotaExceeded(quota: QuotaName, limit: number, used: number): AppError {
  const message = `This workspace may have ${limit} ${things[quota]}, and has ${used}; this would be more. ${waysOut[quota]} The operator can raise the limit.`;
  return new AppError('quota_exceeded', message, {
    details: [{ path: '', message, quota, limit, used }],
  });
}

/** What a workspace has of what is counted with each post. */
export type PostUse = {
  readonly scheduled: number;
  readonly drafts: number;
  readonly text_bytes: number;
};

/**
 * What is left of a workspace's quotas. A cancel makes a draft whatever the quotas say, since stopping a post must never
 * fail; drafts beyond their quota take the room of scheduled posts instead, so that both together stay bounded.
 *
 * @returns numbers that are negative where there is more than the quotas allow.
 */
export const roomLeft = (
  quotas: Quotas,
  { scheduled, drafts, text_bytes: text }: PostUse,
): PostUse => ({
  scheduled: quotas.scheduled - scheduled - Math.max(0, drafts - quotas.drafts),
  drafts: quotas.drafts - drafts,
  text_bytes: quotas.text_bytes - text,
});

/**
 * What a workspace has after a change. What does not grow is never refused, so that a quota which was lowered takes
 * nothing away.
 *
 * @param change Negative numbers for what becomes less.
 * @throws AppError `quota_exceeded`
 */
export function useAfter(quotas: Quotas, use: PostUse, change: PostUse): PostUse {
  const after = {
    scheduled: use.scheduled + change.scheduled,
    drafts: use.drafts + change.drafts,
    text_bytes: use.text_bytes + change.text_bytes,
  };
  const room = roomLeft(quotas, after);
  for (const quota of ['scheduled', 'drafts', 'text_bytes'] as const) {
    if (change[quota] > 0 && room[quota] < 0) {
      throw quotaExceeded(quota, quotas[quota], quotas[quota] - roomLeft(quotas, use)[quota]);
    }
  }

  return after;
}
