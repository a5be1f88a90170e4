import type { Context, Middleware } from 'koa';
import { Refusal } from '../refusal.ts';
import type { Fate } from '../script.ts';

/** A refusal with YouTube's reason code. */
export const refused = (
  status: number,
  reason: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal => new Refusal(status, message, { code: reason, headers });

export const badRequest = (reason: string, message: string): Refusal =>
  refused(400, reason, message);

export const notFound = (what: string): Refusal =>
  refused(404, `${what}NotFound`, `The ${what} that you asked for cannot be found.`);

export const unauthenticated = (): Refusal =>
  refused(
    401,
    'authError',
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
    { 'www-authenticate': 'Bearer realm="https://accounts.google.com/", error="invalid_token"' },
  );

export const insufficientScopes = (): Refusal =>
  refused(403, 'insufficientPermissions', 'Request had insufficient authentication scopes.', {
    'www-authenticate': 'Bearer realm="https://accounts.google.com/", error="insufficient_scope"',
  });

/** YouTube's response for a fate of the script. A duplicate is only reported after the upload. */
export function refusalFor(
  fate: Exclude<Fate, { kind: 'take' | 'duplicate' }>,
  reason: string,
  nowMs: number,
): Refusal {
  if (fate.kind === 'revoked' || fate.kind === 'ended') {
    return unauthenticated();
  }
  if (fate.kind === 'refuse') {
    return badRequest(reason, fate.reason);
  }
  const message =
    "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'youtube.googleapis.com'.";
  const seconds = Math.max(1, Math.ceil((fate.resetMs - nowMs) / 1000));
  return refused(429, 'rateLimitExceeded', message, { 'retry-after': String(seconds) });
}

/** Converts errors to the format of Google's APIs. */
export const answerYoutubeErrors: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const refusal =
      error instanceof Refusal ? error : refused(500, 'internalError', 'The sandbox broke.');
    if (refusal !== error) {
      ctx.app.emit('error', error, ctx);
    }
    answerWith(ctx, refusal);
  }
};

/** Refusals of shared parts have another network's code. */
const reasonOf = ({ code, status }: Refusal): string =>
  code === 'InvalidRequest' ? (status === 400 ? 'badRequest' : 'uploadTooLarge') : code;

function answerWith(ctx: Context, refusal: Refusal): void {
  const { status: code, message } = refusal;
  ctx.status = code;
  ctx.set(refusal.headers);
  ctx.body = {
    error: {
      code,
      message,
      ...(detailsOf(refusal) ?? {
        errors: [{ message, domain: 'youtube.sandbox', reason: reasonOf(refusal) }],
      }),
    },
  };
}

/** Google's common front end reports faults of tokens, in its own format. */
function detailsOf({ code }: Refusal) {
  if (code === 'authError') {
    const at = { location: 'Authorization', locationType: 'header' };
    const message = 'Invalid Credentials';
    return {
      errors: [{ message, domain: 'global', reason: code, ...at }],
      status: 'UNAUTHENTICATED',
    };
  }
  if (code === 'insufficientPermissions') {
    return {
      errors: [{ message: 'Insufficient Permission', domain: 'global', reason: code }],
      status: 'PERMISSION_DENIED',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
          domain: 'googleapis.com',
        },
      ],
    };
  }
  return undefined;
}
