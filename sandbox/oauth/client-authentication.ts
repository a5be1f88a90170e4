import type { Context } from 'koa';
import type { CodeFlow, SandboxOauthApp } from './code-flow.ts';

/** The authenticated app of a request, or undefined when it does not authenticate as the network requires. */
export function authenticatedApp(
  ctx: Context,
  { authentication, findApp }: CodeFlow,
  fields: Readonly<Record<string, string>>,
): SandboxOauthApp | undefined {
  const basic = basicIn(ctx.get('authorization'));
  const body =
    fields['client_id'] !== undefined && fields['client_secret'] !== undefined
      ? { id: fields['client_id'], secret: fields['client_secret'] }
      : undefined;
  // RFC 6749, section 2.3, forbids two methods at once.
  if (basic !== undefined && body !== undefined) {
    return undefined;
  }
  const given =
    (authentication.includes('basic') ? basic : undefined) ??
    (authentication.includes('body') ? body : undefined);
  const app = given && findApp(given.id);
  return app?.secret === given?.secret ? app : undefined;
}

/** Both parts are form-encoded: RFC 6749, section 2.3.1. */
function basicIn(header: string): { id: string; secret: string } | undefined {
  const [, encoded] = /^basic\s+(\S+)$/iv.exec(header) ?? [];
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const [, id, secret] = /^([^:]*):(.*)$/sv.exec(text) ?? [];
  return id === undefined || secret === undefined
    ? undefined
    : { id: decoded(id), secret: decoded(secret) };
}

const decoded = (text: string): string => new URLSearchParams(`text=${text}`).get('text') ?? '';
