import type { Context, Middleware } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import { account, memberUrn, pageUrn } from './account.ts';
import { accessDenied, invalid, invalidToken, LinkedinRefusal, revokedToken } from './refusals.ts';

/** Older versions are over. LinkedIn keeps each for a year. */
const oldestVersion = '202512';

/** Whether the member may post as this author. */
export const mayActFor = (urn: string): boolean => urn === memberUrn || urn === pageUrn;

export type Guards = {
  /** For calls of the versioned API: token, version and protocol. */
  readonly versioned: Middleware;
  /** For calls of the older one: the token. */
  readonly unversioned: Middleware;
  /** For calls that few apps may make. @param what The entitlement. */
  readonly partner: (what: string) => Middleware;
  /** For calls that look for what was posted. */
  readonly lookUp: Middleware;
};

export function guardsOf({ script }: SandboxDeps): Guards {
  const assertToken = (ctx: Context): void => {
    const token = tokenOf(ctx);
    if (token !== account.accessToken && token !== account.selfServeToken) {
      throw invalidToken();
    }
    if (script.isRevoked('linkedin')) {
      throw revokedToken();
    }
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
      if (tokenOf(ctx) === account.selfServeToken) {
        throw accessDenied(what);
      }
      return next();
    },
    lookUp: (_, next) => {
      if (script.isBlind('linkedin')) {
        throw new LinkedinRefusal(503, 'The service is unavailable', {
          code: 'SERVICE_UNAVAILABLE',
        });
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

function tokenOf(ctx: Context): string | undefined {
  return /^bearer\s+(?<token>\S+)$/iv.exec(ctx.get('authorization'))?.groups?.['token'];
}
