import type { ExecutionContext } from 'ava';
import type { Reply } from '../../support/client.ts';
import type { SharedApi } from '../../support/kit.ts';
import { ownedBy, type Owned } from '../owned.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';

/** A request that must be refused. */
export type BadCall = {
  readonly title: string;
  readonly method: string;
  /** Relative to `/api/v1`, with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; text and bytes are sent unchanged. */
  readonly body?: object | string | Uint8Array<ArrayBuffer>;
  readonly code: keyof typeof statuses;
  /** The expected paths in `details`, in any order. */
  readonly places?: readonly string[];
};

/** The status of each code, repeated here on purpose. */
export const statuses = {
  invalid_request: 400,
  empty_body: 400,
  invalid_channel_ids: 400,
  invalid_channel_options: 400,
  invalid_scheduled_at: 400,
  no_channels: 400,
  invalid_content: 400,
  invalid_media_ids: 400,
  invalid_media_url: 400,
  invalid_webhook_url: 400,
  invalid_events: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
} as const;

/**
 * Sends each request and checks that it is refused as expected and stores nothing.
 *
 * @param api Must allow `silentPort`.
 */
export async function allAreRefused(
  t: ExecutionContext,
  { punctual }: SharedApi,
  casesFor: (owned: Owned) => readonly BadCall[],
): Promise<void> {
  const owned = await ownedBy(punctual);
  const { key, workspaceId } = owned.client;
  const cases = casesFor(owned);
  const before = await storedRows(punctual.orm, workspaceId);
  const faults: string[] = [];
  for (const bad of cases) {
    faults.push(...faultsOf(bad, await send(punctual.url, key, bad)));
  }

  t.deepEqual(faults, []);
  t.deepEqual(await storedRows(punctual.orm, workspaceId), before);
  t.log(`${cases.length} bad requests`);
}

async function send(url: string, key: string, bad: BadCall): Promise<Reply> {
  const { method, path, headers, body } = bad;
  const isBytes = typeof body === 'string' || body instanceof Uint8Array;
  try {
    return await rawCall(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
    });
  } catch (error) {
    throw new Error(`${bad.title}: ${method} ${path}`, { cause: error });
  }
}

/** Describes the differences of a response, with its request, so that one run shows all of them. */
function faultsOf(bad: BadCall, { status, headers, body }: Reply): string[] {
  const places: string[] = (body.details ?? []).map(({ path }: { path: string }) => path);
  const pointed = new Set(places);
  const asWished =
    !bad.places || (pointed.size === bad.places.length && bad.places.every((p) => pointed.has(p)));
  const sound =
    status === statuses[bad.code] &&
    body.code === bad.code &&
    typeof body.error === 'string' &&
    headers.has('x-request-id') &&
    !headers.has('location') &&
    asWished;
  const wanted = `${statuses[bad.code]} ${bad.code} ${bad.places?.join() ?? ''}`;
  const got = `${status} ${JSON.stringify(body).slice(0, 200)}`;
  return sound ? [] : [`${bad.method} ${bad.path} (${bad.title}): ${got} instead of ${wanted}`];
}

/** The calls that accept the fields of a post. */
export const onPosts = ({ draft }: Owned): readonly (readonly [string, string])[] => [
  ['POST', '/posts'],
  ['POST', '/posts/validate'],
  ['PATCH', `/posts/${draft}`],
];
