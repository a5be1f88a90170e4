import type { Context } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import type { Signer } from '../orders.ts';

/** The permissions of a request, from its token. */
export type SandboxAccess = Signer & {
  /** null: all scopes. */
  readonly scopes: readonly string[] | null;
};

/** A fixed token of the demo account. */
export type StaticToken = { readonly value: string; readonly scopes: readonly string[] | null };

/** The token in a request's header, unchecked. */
export function bearerIn(ctx: Context): string | undefined {
  return /^bearer\s+(?<token>\S+)$/iv.exec(ctx.get('authorization'))?.groups?.['token'];
}

/** The account and scopes of an access token, or why it is invalid. */
export function checkAccessToken(
  { grants, script }: Pick<SandboxDeps, 'grants' | 'script'>,
  network: string,
  token: string | undefined,
  statics: readonly StaticToken[],
): SandboxAccess | 'unknown' | 'ended' | 'revoked' {
  if (token === undefined) {
    return 'unknown';
  }
  const known = statics.find(({ value }) => value === token);
  if (known !== undefined) {
    const { scopes } = known;
    return script.isRevoked(network) ? 'revoked' : { account: 'demo', hasGrant: false, scopes };
  }
  const state = grants.access(network, token);
  if (state.kind !== 'live') {
    return state.kind === 'spent' ? 'unknown' : state.kind;
  }
  const { account, scopes } = state.grant;
  return { account, hasGrant: true, scopes };
}

const granted = new WeakMap<object, SandboxAccess>();

/** Stores the access of a request after its token was checked. */
export function admit(ctx: Context, access: SandboxAccess): void {
  granted.set(ctx.req, access);
}

/** The access of a request; the demo account without scopes for calls without a token. */
export function accessIn(ctx: Context): SandboxAccess {
  return granted.get(ctx.req) ?? { account: 'demo', hasGrant: false, scopes: [] };
}

/** Whether the request's checked token has one of these scopes. */
export function hasScope(ctx: Context, ...scopes: readonly string[]): boolean {
  const { scopes: held } = accessIn(ctx);
  return held === null || scopes.some((scope) => held.includes(scope));
}
