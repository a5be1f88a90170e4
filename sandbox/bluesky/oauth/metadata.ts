import type { Router } from '@koa/router';
import { originOf } from '../../origin.ts';
import { accountNamed, accountOf } from '../account.ts';
import { flow } from './flow.ts';

/** Serves the metadata of accounts and of OAuth. atproto expects all of it at a bare origin. */
export function addMetadata(router: Router): void {
  router.get('/.well-known/oauth-protected-resource', (ctx) => {
    const origin = originOf(ctx);
    ctx.body = {
      resource: origin,
      authorization_servers: [origin],
      scopes_supported: [],
      bearer_methods_supported: ['header'],
    };
  });

  router.get('/.well-known/oauth-authorization-server', (ctx) => {
    const issuer = originOf(ctx);
    ctx.body = {
      issuer,
      authorization_endpoint: issuer + flow.authorizePath,
      token_endpoint: issuer + flow.tokenPath,
      pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      require_pushed_authorization_requests: true,
      scopes_supported: Object.keys(flow.scopes),
      subject_types_supported: ['public'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: ['ES256'],
      dpop_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    };
  });

  // The directory of accounts, like plc.directory for real accounts.
  router.get('/:did', (ctx, next) => {
    const name = ctx.params['did']?.startsWith('did:') ? accountNamed(ctx.params['did']) : null;
    if (name === null) {
      return next();
    }
    const { did, handle } = accountOf(name);
    ctx.body = {
      '@context': ['https://www.w3.org/ns/did/v1'],
      id: did,
      alsoKnownAs: [`at://${handle}`],
      verificationMethod: [],
      service: [
        {
          id: '#atproto_pds',
          type: 'AtprotoPersonalDataServer',
          serviceEndpoint: originOf(ctx),
        },
      ],
    };
    return undefined;
  });
}
