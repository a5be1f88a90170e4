import type { DeliveryView } from '../../services/webhooks/read-deliveries.ts';
import { createApiKey, createWorkspace } from '../../cli/admin/workspaces.ts';
import type { PostView } from '../../domain/post-view.ts';
import { checkAnswer } from './check-answer.ts';
import type { Reply } from './contract.ts';
import { poll } from './poll.ts';
import type { Punctual } from './punctual.ts';

export type { Reply } from './contract.ts';

/** An API client with one workspace's key, which checks every answer against its route's schema. */
export type Client = {
  readonly workspaceId: string;
  readonly key: string;
  readonly get: (path: string) => Promise<Reply>;
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>;
  readonly patch: (path: string, body: unknown) => Promise<Reply>;
  readonly delete: (path: string) => Promise<Reply>;
  /** Polls until an endpoint's newest delivery is delivered or failed. */
  readonly finalDelivery: (endpointId: string) => Promise<DeliveryView>;
  /** Polls until a post has a final status. */
  readonly finalPost: (id: string, timeoutMs?: number) => Promise<PostView>;
};

/** Creates a workspace with a key, and a client for it. */
export async function newClient(punctual: Punctual, name = 'Test'): Promise<Client> {
  const em = punctual.orm.em.fork();
  const workspaceId = await createWorkspace(em, name);
  return clientFor(punctual.url, workspaceId, await createApiKey(em, workspaceId));
}

export function clientFor(url: string, workspaceId: string, key: string): Client {
  const call = async (method: string, path: string, init: RequestInit = {}): Promise<Reply> => {
    const address = `${url}/api/v1${path}`;
    const response = await fetch(address, {
      method,
      ...init,
      headers: { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) },
    });
    const text = await response.text();
    const { status, headers } = response;
    const reply = { status, headers, body: text === '' ? undefined : JSON.parse(text) };
    checkAnswer(method, address, reply);
    return reply;
  };
  const json = { 'content-type': 'application/json' };
  const client: Client = {
    workspaceId,
    key,
    get: (path) => call('GET', path),
    post: (path, body, headers = {}) =>
      call('POST', path, {
        body: JSON.stringify(body),
        headers: { ...json, ...headers },
      }),
    patch: (path, body) => call('PATCH', path, { body: JSON.stringify(body), headers: json }),
    delete: (path) => call('DELETE', path),
    finalPost: (id, timeoutMs) =>
      poll<PostView>(
        async () => (await client.get(`/posts/${id}`)).body.post,
        (post) => post.status === 'published' || post.status === 'failed',
        timeoutMs,
      ),
    finalDelivery: (id) =>
      poll<DeliveryView>(
        async () => (await client.get(`/webhooks/${id}`)).body.deliveries[0],
        (delivery) => delivery?.status === 'delivered' || delivery?.status === 'failed',
      ),
  };
  return client;
}
