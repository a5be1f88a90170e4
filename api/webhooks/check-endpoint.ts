import { AppError } from '../../domain/errors.ts';
import { eventTypes, type EventType } from '../../domain/post-status.ts';
import { isText } from '../../domain/texts.ts';
import { normalUrl } from '../../runtime/egress/target.ts';
import type { ApiDeps } from '../deps.ts';

/**
 * @returns the URL in its normal form, as it is kept and shown.
 * @throws AppError `invalid_webhook_url` with the reason, when no webhook may be sent there.
 */
export async function checkUrl({ refuseUrl }: ApiDeps, url: string): Promise<string> {
  const refusal = isText(url)
    ? await refuseUrl(url)
    : 'The URL contains NUL or half of a surrogate pair.';
  if (refusal !== null) {
    const details = [{ path: '/url', message: refusal }];
    throw new AppError('invalid_webhook_url', refusal, { details });
  }

  return normalUrl(url);
}

/**
 * @returns the events, each once.
 * @throws AppError `invalid_events` that names what is unknown.
 */
export function checkEvents(given: readonly string[]): EventType[] {
  const known = (name: string): name is EventType =>
    (eventTypes as readonly string[]).includes(name);
  const unknown = given.filter((name) => !known(name));
  if (given.length === 0 || unknown.length > 0) {
    const what = unknown.length > 0 ? `does not know ${unknown.join(', ')}` : 'must not be empty';
    const message = `events ${what}. There are ${eventTypes.join(', ')}.`;
    throw new AppError('invalid_events', message, { details: [{ path: '/events', message }] });
  }

  return [...new Set(given.filter(known))];
}

/** @throws AppError `invalid_request` when it is nothing that can be stored. */
export function checkDescription(description: string | null): string | null {
  if (!isText(description ?? '')) {
    const message = 'must be text: no NUL, no half of a surrogate pair';
    const details = [{ path: '/description', message }];
    throw new AppError('invalid_request', `description ${message}.`, { details });
  }

  return description;
}
