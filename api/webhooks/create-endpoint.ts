import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { newId } from '../../db/new-id.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { AppError } from '../../domain/errors.ts';
import { eventTypes, type EventType } from '../../domain/events.ts';
import { isText } from '../../domain/is-text.ts';
import { newSigningSecret } from '../../runtime/token.ts';
import type { ApiDeps } from '../deps.ts';
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
  if (!isText(request.description ?? '')) {
    const message = 'must be text: no NUL, no half of a surrogate pair';
    throw new AppError('invalid_request', `description ${message}.`, {
      details: [{ path: '/description', message }],
    });
  }

  const refusal = isText(request.url)
    ? await deps.refuseUrl(request.url)
    : 'The URL contains half of a surrogate pair.';
  if (refusal !== null) {
    throw new AppError('invalid_webhook_url', refusal, {
      details: [{ path: '/url', message: refusal }],
    });
  }

  const secret = newSigningSecret();
  const id = newId();
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
      url: request.url,
      events,
      description: request.description ?? null,
      sealedSecret: deps.sealer.seal(secret, signingSecretPurpose(id)),
      secretHint: `whsec_…${secret.slice(-4)}`,
      createdAt: deps.now(),
    });
  });
  return { endpoint, secret };
}

/** @throws AppError `invalid_events` that names what is unknown. */
function checkEvents(given: readonly string[]): EventType[] {
  const known = (name: string): name is EventType =>
    (eventTypes as readonly string[]).includes(name);
  const unknown = given.filter((name) => !known(name));
  if (given.length === 0 || unknown.length > 0) {
    const what = unknown.length > 0 ? `does not know ${unknown.join(', ')}` : 'must not be empty';
    const message = `events ${what}. There are ${eventTypes.join(', ')}.`;
    throw new AppError('invalid_events', message, { details: [{ path: '/events', message }] });
  }

  return [...new Set(given.filter(known))];
}
