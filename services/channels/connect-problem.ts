import { AppError } from '../../domain/errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { OauthError, type OauthErrorCode } from '../../networks/oauth/contract.ts';

/**
 * `other_browser`: the answer arrived in another browser than the one that went to the network. `wrong_answer`: the
 * state matches no open link, or arrived at another server's address. `refused`: the network refused the secret.
 */
type ProblemCode =
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

/** An expected failure that the page explains. The message is for the person and contains no secret. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const internalProblem = (): Problem =>
  new Problem('unavailable', 'Something went wrong here, and nothing was connected. Try again.');

export const unknownLink = (): Problem =>
  new Problem('unknown_link', 'This link is unknown. Ask for a new one.');

/** Converts an error of a network or of our own rules; null for an internal failure. */
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
