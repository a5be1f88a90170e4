import { AppError } from '../../domain/errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { OauthError, type OauthErrorCode } from '../../networks/oauth.ts';

/**
 * Why a link connected nothing. Beside the codes of `OauthError`:
 *
 * - `unknown_link`: there is no such link, or it was deleted.
 * - `used`: it connected an account already, or failed for good.
 * - `other_browser`: the answer came in another browser than the one that went to the network.
 * - `wrong_answer`: the state belongs to no link that is open, or came back at another server's address.
 * - `wrong_account`: the link is for another account.
 * - `refused`: the network does not take the secret.
 * - `invalid`: what was typed is none.
 * - `rate_limited`: too many secrets were refused.
 * - `quota_exceeded`, `network_not_configured`: as in the API.
 */
export type ProblemCode =
  | OauthErrorCode
  | 'unknown_link'
  | 'used'
  | 'other_browser'
  | 'wrong_answer'
  | 'wrong_account'
  | 'refused'
  | 'invalid'
  | 'quota_exceeded'
  | 'rate_limited'
  | 'network_not_configured';

/** What the page says instead. The message is for the person, and holds no secret. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A failure of ours: the log says which. */
export const failedHere = (): Problem =>
  new Problem('unavailable', 'Something went wrong here, and nothing was connected. Try again.');

export const unknownLink = (): Problem =>
  new Problem('unknown_link', 'This link is unknown. Ask for a new one.');

/** What a network or one of our own rules said, as a problem; null for a failure of ours. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) {
    return error;
  }

  if (error instanceof OauthError) {
    return new Problem(error.code, error.message);
  }

  if (error instanceof NetworkError) {
    const isRefusal = error.code === 'access_lost' || error.code === 'permission_missing';
    return new Problem(isRefusal ? 'refused' : 'unavailable', error.message);
  }

  if (error instanceof AppError && error.code === 'quota_exceeded') {
    return new Problem(error.code, error.message);
  }

  return error instanceof AppError && error.code === 'invalid_request'
    ? new Problem('invalid', error.message)
    : null;
}
