import { LockMode } from '@mikro-orm/core';
import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { rotationOverlapMs, secretsOf, type KeptSecret } from '../../domain/signing-secrets.ts';
import { newSigningSecret } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { loadEndpoint, unknownEndpoint } from './read-endpoints.ts';
import type { EndpointView } from './schemas.ts';

/**
 * Makes a new signing secret, which signs beside the present one for 24 hours and alone from then on.
 *
 * During an overlap it replaces the one that was to come, and the 24 hours begin anew: the secret that receivers
 * check `Service-Signature` with is never the one that goes. Refusing would be worse, since an answer that was
 * lost on the way takes its secret with it, and nothing but another rotation can mend that.
 *
 * @throws AppError `not_found`
 */
export async function rotateSecret(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<{ endpoint: EndpointView; secret: string }> {
  const { secret, kept } = newSecret(deps, id);
  const endpoint = await deps.orm.em.fork().transactional(async (em) => {
    const where = { id, workspaceId };
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const stored = await em.findOne(WebhookEndpoint, where, { lockMode });
    if (!stored) {
      throw unknownEndpoint(id);
    }

    const now = deps.now();
    const { current } = secretsOf(stored, now);
    await em.nativeUpdate(WebhookEndpoint, where, {
      sealedSecret: current.sealed,
      secretHint: current.hint,
      nextSealedSecret: kept.sealed,
      nextSecretHint: kept.hint,
      rotatesAt: new Date(now.getTime() + rotationOverlapMs),
    });
    return loadEndpoint(em, workspaceId, now, id);
  });
  return { endpoint, secret };
}

/** A new signing secret of this endpoint: itself, to be shown once, and what is kept of it. */
export function newSecret(
  { sealer }: ApiDeps,
  endpointId: string,
): { readonly secret: string; readonly kept: KeptSecret } {
  const secret = newSigningSecret();
  const sealed = sealer.seal(secret, signingSecretPurpose(endpointId));
  return { secret, kept: { sealed, hint: `whsec_…${secret.slice(-4)}` } };
}
