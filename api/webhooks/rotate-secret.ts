import { LockMode } from '@mikro-orm/core';
import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { rotationOverlapMs, secretsOf } from '../../domain/signing-secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { loadEndpoint, unknownEndpoint } from './load-endpoints.ts';
import { newSecret } from './new-secret.ts';
import type { EndpointView } from './present-endpoint.ts';

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
