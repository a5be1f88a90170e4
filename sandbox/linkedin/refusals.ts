import { Refusal } from '../refusal.ts';

/** An error response with LinkedIn's additional members. */
export class LinkedinRefusal extends Refusal {
  readonly more: object;

  constructor(
    status: number,
    message: string,
    more: object = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(status, message, { headers });
    this.more = more;
  }
}

const invalidToken = () =>
  new LinkedinRefusal(401, 'Invalid access token', {
    serviceErrorCode: 65_600,
    code: 'INVALID_ACCESS_TOKEN',
  });

const revokedToken = () =>
  new LinkedinRefusal(401, 'The token used in the request has been revoked by the user', {
    serviceErrorCode: 65_601,
    code: 'REVOKED_ACCESS_TOKEN',
  });

const expiredToken = () =>
  new LinkedinRefusal(401, 'The token used in the request has expired', {
    serviceErrorCode: 65_602,
    code: 'EXPIRED_ACCESS_TOKEN',
  });

/** LinkedIn's responses to invalid tokens. */
export const badTokens = { unknown: invalidToken, revoked: revokedToken, ended: expiredToken };

/** @param what The entitlement: `partnerApiSocialActions.CREATE`. */
export const accessDenied = (what: string) =>
  new LinkedinRefusal(403, `Not enough permissions to access: ${what}`, {
    serviceErrorCode: 100,
    code: 'ACCESS_DENIED',
  });

export const notFound = (what: string) =>
  new LinkedinRefusal(404, `Could not find ${what}`, { code: 'NOT_FOUND' });

export const invalid = (message: string, code = 'INVALID_VALUE_FOR_FIELD') =>
  new LinkedinRefusal(400, message, { code });

/** A request that does not match the schema. @param errors A sentence each, with the field's path. */
export const unprocessable = (...errors: readonly string[]) =>
  new LinkedinRefusal(422, errors.map((error) => `ERROR :: ${error}\n`).join(''));

export const duplicateOf = (urn: string) =>
  new LinkedinRefusal(
    422,
    `com.linkedin.content.common.exception.BadRequestResponseException: Content is a duplicate of ${urn}`,
    {
      errorDetailType: 'com.linkedin.common.error.BadRequest',
      errorDetails: {
        inputErrors: [
          { description: 'Duplicate post is detected', input: {}, code: 'DUPLICATE_POST' },
        ],
      },
    },
  );

/**
 * LinkedIn itself sends no Retry-After: its limits are per day. The sandbox does, so that users need not wait until
 * midnight.
 */
export const throttled = (resetMs: number, nowMs: number) =>
  new LinkedinRefusal(
    429,
    'Resource level throttle MEMBER DAY limit for calls to this resource is reached.',
    { serviceErrorCode: 101, code: 'TOO_MANY_REQUESTS' },
    { 'retry-after': String(Math.ceil((resetMs - nowMs) / 1000)) },
  );
