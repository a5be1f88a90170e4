import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { newId } from '../../db/new-id.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { checkDescription, checkEvents, checkUrl } from './check-endpoint.ts';
import { newSecret } from './new-secret.ts';
import type { CreateEndpointBody } from './schemas.ts';

/** Of a workspace (specification, Limits). */
const maxEndpoints = 10;

/**
 * Registers an endpoint. The signing secret is shown this once; the database has it sealed.
 *
 * @throws AppError `invalid_webhook_url`, `invalid_events` or `webhook_limit_reached`.
 */
export async function createEndpoint(
  deps: ApiDeps,
  workspaceId: string,
  request: CreateEndpointBody,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const events = checkEvents(request.events);
  const description = checkDescription(request.description ?? null);
  const url = await checkUrl(deps, request.url);
  const id = newId();
  const { secret, kept } = newSecret(deps, id);
  const endpoint = await deps.orm.em.fork().transactional(async (em) => {
    // The workspace's row makes concurrent registrations queue up, so that the limit holds.
    await em.execute('select id from workspaces where id = ? for update', [workspaceId]);
    if ((await em.count(WebhookEndpoint, { workspaceId })) >= maxEndpoints) {
      throw new AppError(
        'webhook_limit_reached',
        `A workspace has at most ${maxEndpoints} webhook endpoints. Delete one first.`,
      );
    }

    return em.create(WebhookEndpoint, {
      id,
      workspaceId,
      url,
      events,
      description,
      sealedSecret: kept.sealed,
      secretHint: kept.hint,
      nextSealedSecret: null,
      nextSecretHint: null,
      rotatesAt: null,
      failingSince: null,
      disabledAt: null,
      disabledReason: null,
      createdAt: deps.now(),
    });
  });
  return { endpoint, secret };
}
