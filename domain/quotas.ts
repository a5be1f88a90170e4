import { AppError } from './errors.ts';

/** The limited resources of a workspace: how messages name them, and how there is room again. */
const resources = {
  scheduled: ['scheduled posts', 'There is room again once some of them go out.'],
  drafts: [
    'drafts',
    'Schedule some of them, or change one that is no longer wanted instead of making another.',
  ],
  text_bytes: ['bytes of text in its posts', 'Shorten drafts.'],
  files: ['files in its media library', 'Delete files that no post needs: DELETE /media/{id}.'],
  media_bytes: [
    'bytes in its media library',
    'Delete files that no post needs: DELETE /media/{id}.',
  ],
  channels: ['channels', 'Connecting one of them again is always possible.'],
} as const;
export type QuotaName = keyof typeof resources;
export const quotaNames = Object.keys(resources) as readonly QuotaName[];

export type Quotas = Readonly<Record<QuotaName, number>>;

export const isQuotaName = (name: string): name is QuotaName => Object.hasOwn(resources, name);

/** @throws AppError `plan_required` */
export function assertHasPlan({ plan }: { readonly plan: string | null }): void {
  if (plan === null) {
    const message =
      'This workspace has no active plan, so posts cannot be created, changed or retried; scheduled posts still go out. Ask the operator of this service to set a plan.';
    throw new AppError('plan_required', message);
  }
}

/** The error for a request that exceeds a quota. @param used The current use, without this request. */
export function quotaExceeded(quota: QuotaName, limit: number, used: number): AppError {
  const [things, wayOut] = resources[quota];
  const message = `This workspace may have ${limit} ${things}, and has ${used}; this would be more. ${wayOut} The operator can raise the limit.`;
  return new AppError('quota_exceeded', message, {
    details: [{ path: '', message, quota, limit, used }],
  });
}

/** A workspace's use of the quotas that posts count against. */
export type PostUse = Pick<Quotas, 'scheduled' | 'drafts' | 'text_bytes'>;

/**
 * The remaining room in a workspace's quotas, negative where the use exceeds them. A cancel always succeeds, so it may
 * create drafts beyond their quota. These take the room of scheduled posts, so that both together stay bounded.
 */
const roomLeft = (quotas: Quotas, { scheduled, drafts, text_bytes: text }: PostUse): PostUse => ({
  scheduled: quotas.scheduled - scheduled - Math.max(0, drafts - quotas.drafts),
  drafts: quotas.drafts - drafts,
  text_bytes: quotas.text_bytes - text,
});

/** Refuses a change that exceeds a quota. A use that does not grow is never refused, so a lowered quota removes nothing. */
export function assertRoom(quotas: Quotas, use: PostUse, change: PostUse): void {
  const left = roomLeft(quotas, use);
  const after = roomLeft(quotas, {
    scheduled: use.scheduled + change.scheduled,
    drafts: use.drafts + change.drafts,
    text_bytes: use.text_bytes + change.text_bytes,
  });
  for (const quota of ['scheduled', 'drafts', 'text_bytes'] as const) {
    if (change[quota] > 0 && after[quota] < 0) {
      throw quotaExceeded(quota, quotas[quota], quotas[quota] - left[quota]);
    }
  }
}
