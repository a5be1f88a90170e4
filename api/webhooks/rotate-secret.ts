import { LockMode } from '@mikro-orm/core';
import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { rotationOverlapMs, secretsOf, type KeptSecret } from '../../domain/signing-secrets.ts';
import { newSigningSecret } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { loadEndpoint, unknownEndpoint } from './read-endpoints.ts';
import type { EndpointView } from './schemas.ts';

/**
 * Creates a new signing secret, which signs beside the current one for 24 hours and then alone.
 *
 * During an overlap it replaces the pending secret and restarts the 24 hours: the secret of `Service-Signature` never
 * changes early. A refusal would be worse: a lost response loses its secret, and only another rotation helps.
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

/** Creates a signing secret: the plain text, to be shown once, and the stored form. */
export function newSecret(
  { sealer }: ApiDeps,
  endpointId: string,
): { readonly secret: string; readonly kept: KeptSecret } {
  const secret = newSigningSecret();
  const sealed = sealer.seal(secret, signingSecretPurpose(endpointId));
  return { secret, kept: { sealed, hint: `whsec_…${secret.slice(-4)}` } };
}
