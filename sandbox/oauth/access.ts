import type { Context } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import type { Signer } from '../orders.ts';

/** What a request may do, by its token. */
export type Access = Signer & {
  /** null: everything. */
  readonly scopes: readonly string[] | null;
};

/** A token that needs no signing in: the demo account's. */
export type StaticToken = { readonly value: string; readonly scopes: readonly string[] | null };

/** The token of a request's header, without a look at it. */
export function bearerIn(ctx: Context): string | undefined {
  return /^bearer\s+(?<token>\S+)$/iv.exec(ctx.get('authorization'))?.groups?.['token'];
}

/** Whose access token this is, or why it is not good. */
export function accessOf(
  { grants, script }: Pick<SandboxDeps, 'grants' | 'script'>,
  network: string,
  token: string | undefined,
  statics: readonly StaticToken[],
): Access | 'unknown' | 'ended' | 'revoked' {
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

const granted = new WeakMap<object, Access>();

/** Notes whose request it is, once its token was checked. */
export function admit(ctx: Context, access: Access): void {
  granted.set(ctx.req, access);
}

/** Whose request it is. A call that needs no token is nobody's: then the demo account is shown. */
export function accessIn(ctx: Context): Access {
  return granted.get(ctx.req) ?? { account: 'demo', hasGrant: false, scopes: [] };
}

/** Whether the token of a request, which was checked, has one of these scopes. */
export function hasScope(ctx: Context, ...scopes: readonly string[]): boolean {
  const { scopes: held } = accessIn(ctx);
  return held === null || scopes.some((scope) => held.includes(scope));
}
