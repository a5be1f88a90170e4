import type { Context, Middleware } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import { accessIn, checkAccessToken, admit, bearerIn, hasScope } from '../oauth/access.ts';
import { account, members, pageUrn, urnOf } from './account.ts';
import { partnerScopes } from './oauth.ts';
import { accessDenied, badTokens, invalid, LinkedinRefusal } from './refusals.ts';

/** The oldest active version. LinkedIn keeps each version for a year. */
const oldestVersion = '202512';

const statics = [
  { value: account.accessToken, scopes: null },
  { value: account.selfServeToken, scopes: ['openid', 'profile', 'w_member_social'] },
];

/** Whether a request may post as this author: its member, or the page that the member administers. */
export function mayActFor(ctx: Context, urn: string): boolean {
  const { account: member } = accessIn(ctx);
  if (urn === urnOf(members[member])) {
    return hasScope(ctx, 'w_member_social');
  }
  return urn === pageUrn && member === 'demo' && hasScope(ctx, 'w_organization_social');
}

export type Guards = {
  /** For calls of the versioned API: checks token, version and protocol. */
  readonly versioned: Middleware;
  /** For calls of the older API: checks the token. */
  readonly unversioned: Middleware;
  /** For calls that only few apps may make. @param what The entitlement. */
  readonly partner: (what: string) => Middleware;
};

export function guardsOf(deps: SandboxDeps): Guards {
  const assertToken = (ctx: Context): void => {
    const access = checkAccessToken(deps, 'linkedin', bearerIn(ctx), statics);
    if (typeof access === 'string') {
      throw badTokens[access]();
    }
    admit(ctx, access);
  };
  return {
    versioned: (ctx, next) => {
      assertToken(ctx);
      assertVersion(ctx.get('linkedin-version'));
      if (ctx.get('x-restli-protocol-version') !== '2.0.0') {
        throw invalid('The header X-Restli-Protocol-Version must be 2.0.0');
      }
      if (ctx.method === 'POST' && !ctx.is('application/json')) {
        throw new LinkedinRefusal(415, 'The body must be application/json', {
          code: 'UNSUPPORTED_MEDIA_TYPE',
        });
      }
      return next();
    },
    unversioned: (ctx, next) => {
      assertToken(ctx);
      return next();
    },
    partner: (what) => (ctx, next) => {
      if (!hasScope(ctx, ...partnerScopes)) {
        throw accessDenied(what);
      }
      return next();
    },
  };
}

function assertVersion(version: string): void {
  if (version === '') {
    throw invalid('A version must be present. Please specify a version by adding the header');
  }
  if (!/^[0-9]{6}$/v.test(version) || version < oldestVersion) {
    throw new LinkedinRefusal(426, `Requested version ${version} is not active`, {
      code: 'NONEXISTENT_VERSION',
    });
  }
}
