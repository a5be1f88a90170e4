/** What the plugin below needs of Fastify. */
type Reply = { readonly header: () => { readonly send: (text: string) => void } };
type Route = { readonly url: string; readonly handler: (request: undefined, reply: Reply) => void };
type Plugin = (
  fastify: { readonly route: (route: Route) => void },
  options: object,
  next: () => void,
) => void;

/**
 * Scalar's bundle for browsers. The package of the bundle brings 300 MB of others, so it is taken from the plugin for
 * Fastify (24 MB), which serves it.
 */
export async function scalarBundle(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference');
  const { promise, resolve } = Promise.withResolvers<string>();
  const reply = { header: () => ({ send: resolve }) };
  (plugin as unknown as Plugin)(
    { route: ({ url, handler }) => url.endsWith('.js') && handler(undefined, reply) },
    { configuration: { url: '/openapi.json' } },
    () => undefined,
  );
  return promise;
}
